// Beginning and end of a group, and what its operations have in common.
#include "process_group.hpp"

namespace icefield {

namespace {

// oneCCL is set up by one thread at a time, and not while operations of other groups need it.
void drain(const std::shared_ptr<Group>& group, Milliseconds patience) {
  const auto until = Clock::now() + patience;
  while (Engine::get().busy_with(*group) && Clock::now() < until) {
    std::this_thread::sleep_for(Milliseconds(1));
  }
}

}  // namespace

ProcessGroupCcl::ProcessGroupCcl(const c10::intrusive_ptr<c10d::Store>& store, int rank, std::vector<std::string> hosts,
                                 Milliseconds timeout, Milliseconds deadline, const std::string& name)
    : Backend(rank, static_cast<int>(hosts.size())),
      group_(std::make_shared<Group>(name, rank, std::move(hosts), timeout)),
      store_(own_connection(store)),
      deadline_(deadline) {
  if (group_->size == 1) return;
  watchdog_ = std::make_unique<Watchdog>(own_connection(store), group_, deadline);
  kvs_ = std::make_shared<StoreKvs>(own_connection(store), group_);
  watchdog_->set_phase("connecting the ranks");
  try {
    Engine::get().idle(timeout);
    Engine::get().locked([this] {
      ccl::init();
      auto attributes = ccl::create_comm_attr();
      group_->communicator = std::make_unique<ccl::communicator>(
          ccl::create_communicator(static_cast<size_t>(group_->size), group_->rank, kvs_, attributes));
      // libfabric connects two ranks when they first talk, for which both must be at it: later one may be computing.
      const Counts one_each(group_->size, 1);
      std::vector<uint8_t> from(group_->size), to(group_->size);
      ccl::alltoallv(from.data(), one_each, to.data(), one_each, kBytes, communicator()).wait();
    });
  } catch (const std::exception& problem) {
    watchdog_->set_phase("");
    throw std::runtime_error(group_->fail(std::string("connecting the ranks failed: ") + problem.what()));
  }
  watchdog_->set_phase("");
  mailbox_ = std::make_shared<Mailbox>(group_);
}

ProcessGroupCcl::~ProcessGroupCcl() {
  shutdown();
}

void ProcessGroupCcl::shutdown() {
  if (ended_) return;
  ended_ = true;
  if (group_->size == 1) return;
  if (group_->failure().empty()) drain(group_, deadline_);
  const bool clean = group_->failure().empty() && !Engine::get().busy_with(*group_) && mailbox_ && !mailbox_->expects();
  watchdog_->stop();
  kvs_->close();
  if (clean) {
    Engine::get().locked([this] { group_->communicator.reset(); });
  } else {
    // What oneCCL may still write to, or wait for when it ends, stays for the rest of the process.
    static_cast<void>(new std::shared_ptr<Group>(group_));
    static_cast<void>(new std::shared_ptr<Mailbox>(mailbox_));
    static_cast<void>(new std::shared_ptr<StoreKvs>(kvs_));
  }
  group_->fail("the group has ended");
}

std::string ProcessGroupCcl::doing() const {
  bool stuck = false;
  const auto work = Engine::get().oldest_of(*group_, Milliseconds(50), stuck);
  return stuck ? "a call of oneCCL that does not return" : work ? work->title() : "";
}

c10::intrusive_ptr<CclWork> ProcessGroupCcl::new_work(const Settings& settings) {
  const auto timeout = settings.timeout == c10d::kUnsetTimeout ? Milliseconds(group_->timeout.load()) : settings.timeout;
  return c10::make_intrusive<CclWork>(*group_, settings.type, settings.outputs, timeout, ++group_->sequence);
}

WorkPtr ProcessGroupCcl::submit(Operation operation, const std::function<std::function<bool()>()>& begin) {
  auto work = Engine::get().submit(std::move(operation), begin);
  if (coalescing_) coalescing_->push_back(work);
  return work;
}

WorkPtr ProcessGroupCcl::run(const Settings& settings, const Begin& begin, std::function<void()> finish, Tensors keep) {
  struct State {
    Tensors keep;
    std::vector<ccl::event> events;
  };
  return submit({group_, new_work(settings), nullptr, std::move(finish)}, [&] {
    auto state = std::make_shared<State>();
    state->keep = std::move(keep);
    begin(state->events);
    return [state] {
      for (auto& event : state->events) {
        if (!event.test()) return false;
      }
      return true;
    };
  });
}

void ProcessGroupCcl::startCoalescing() {
  TORCH_CHECK(!coalescing_, "icefield-ccl: operations are being collected already");
  coalescing_.emplace();
}

WorkPtr ProcessGroupCcl::endCoalescing() {
  TORCH_CHECK(coalescing_, "icefield-ccl: no operations are being collected");
  const auto works = std::make_shared<std::vector<WorkPtr>>(std::move(*coalescing_));
  coalescing_.reset();
  Tensors outputs;
  for (const auto& work : *works) {
    for (const auto& output : work->result()) outputs.push_back(output);
  }
  return submit({group_, new_work({c10d::OpType::COALESCED, outputs, c10d::kUnsetTimeout}), nullptr, nullptr}, [&] {
    return [works] {
      for (const auto& work : *works) {
        if (!work->isCompleted()) return false;
      }
      return true;
    };
  });
}

WorkPtr ProcessGroupCcl::barrier(const c10d::BarrierOptions& options) {
  return run({c10d::OpType::BARRIER, {}, options.timeout},
             [this](auto& events) {
               if (group_->size > 1) events.push_back(ccl::barrier(communicator()));
             },
             nullptr, {});
}

// Over the store alone, so that it can name who is missing.
void ProcessGroupCcl::monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all_ranks) {
  const auto timeout = options.timeout == c10d::kUnsetTimeout ? Milliseconds(group_->timeout.load()) : options.timeout;
  const auto until = Clock::now() + timeout;
  const std::string prefix = "ccl/barrier/" + std::to_string(++barriers_) + "/";
  const auto arrived = [&](const std::string& who) {
    while (!store_->check({prefix + who})) {
      if (Clock::now() > until) return false;
      std::this_thread::sleep_for(Milliseconds(5));
    }
    return true;
  };
  if (group_->rank != 0) {
    store_->set(prefix + std::to_string(group_->rank), std::vector<uint8_t>{1});
    TORCH_CHECK(arrived("verdict"), "icefield-ccl: ", group_->person(group_->rank), ": timed out waiting for ", group_->person(0),
                " in a monitored barrier");
    const auto verdict = store_->get(prefix + "verdict");
    TORCH_CHECK(verdict.empty() || verdict[0] == 1, std::string(verdict.begin(), verdict.end()));
    return;
  }
  std::string missing;
  for (int rank = 1; rank < group_->size && (missing.empty() || wait_all_ranks); ++rank) {
    if (!arrived(std::to_string(rank))) missing += (missing.empty() ? "" : ", ") + group_->person(rank);
  }
  const std::string message = "icefield-ccl: " + group_->person(0) + ": timed out waiting for " + missing + " in a monitored barrier";
  store_->set(prefix + "verdict", missing.empty() ? std::vector<uint8_t>{1} : std::vector<uint8_t>(message.begin(), message.end()));
  TORCH_CHECK(missing.empty(), message);
}

WorkPtr ProcessGroupCcl::send(Tensors& tensors, int to, int tag) {
  const auto& tensor = only(tensors);
  check_rank(to, "receiver");
  TORCH_CHECK(to != group_->rank, "icefield-ccl: a rank cannot send to itself");
  return submit({group_, new_work({c10d::OpType::SEND, tensors, c10d::kUnsetTimeout}), nullptr, nullptr},
                [&] { return mailbox_->begin_send(to, tag, block_of(tensor)); });
}

WorkPtr ProcessGroupCcl::receive(const at::Tensor& tensor, int from, int tag, c10d::OpType type) {
  auto wanted = std::make_shared<Mailbox::Wanted>(Mailbox::Wanted{from, tag, room_for(tensor)});
  auto work = new_work({type, {tensor}, c10d::kUnsetTimeout});
  const auto finish = [wanted, tensor, work = work.get()] {
    settle(tensor, wanted->room);
    work->set_source(wanted->source);
  };
  return submit({group_, work, nullptr, finish}, [&] { return mailbox_->begin_receive(wanted); });
}

WorkPtr ProcessGroupCcl::recv(Tensors& tensors, int from, int tag) {
  check_rank(from, "sender");
  TORCH_CHECK(from != group_->rank, "icefield-ccl: a rank cannot receive from itself");
  return receive(only(tensors), from, tag, c10d::OpType::RECV);
}

WorkPtr ProcessGroupCcl::recvAnysource(Tensors& tensors, int tag) {
  return receive(only(tensors), kAnyRank, tag, c10d::OpType::RECVANYSOURCE);
}

}  // namespace icefield
