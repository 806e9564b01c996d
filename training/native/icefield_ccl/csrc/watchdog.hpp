// Notices ranks that are gone, which oneCCL does not, by signs of life in torch's store.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <unistd.h>

#include <cstdio>

#include "engine.hpp"

namespace icefield {

class Watchdog {
 public:
  Watchdog(c10::intrusive_ptr<c10d::Store> store, std::shared_ptr<Group> group, Milliseconds deadline)
      : store_(std::move(store)), group_(std::move(group)), deadline_(deadline) {
    seen_.resize(group_->size);
    beat();
    thread_ = std::thread([this] { serve(); });
  }

  // What the caller does until it says otherwise; this is watched too, though no operation is under way.
  void set_phase(const std::string& phase) {
    std::lock_guard<std::mutex> hold(mutex_);
    phase_ = phase;
    phase_since_ = Clock::now();
  }

  // Say good-bye, so that the others do not take this rank for dead.
  void stop() {
    {
      std::lock_guard<std::mutex> hold(mutex_);
      if (stopping_) return;
      stopping_ = true;
    }
    wake_.notify_one();
    thread_.join();
    try {
      if (group_->failure().empty()) store_->set(key(group_->rank), text("left"));
    } catch (const std::exception&) {
      // The store's host ended first.
    }
  }

  ~Watchdog() {
    stop();
  }

 private:
  struct Seen {
    std::string sign;
    Clock::time_point since;
  };

  static constexpr const char* kFailure = "ccl/failure";

  static std::string key(int rank) {
    return "ccl/alive/" + std::to_string(rank);
  }

  static std::vector<uint8_t> text(const std::string& value) {
    return {value.begin(), value.end()};
  }

  // Empty where there is none.
  std::string read(const std::string& name) {
    if (!store_->check({name})) return "";
    const auto value = store_->get(name);
    return {value.begin(), value.end()};
  }

  void beat() {
    store_->set(key(group_->rank), text(std::to_string(++beats_) + " " + std::to_string(group_->sequence.load())));
  }

  void serve() {
    const auto interval = std::min<Milliseconds>(Milliseconds(1000), deadline_ / 4);
    std::unique_lock<std::mutex> hold(mutex_);
    while (!wake_.wait_for(hold, interval, [this] { return stopping_; })) {
      const std::string phase = phase_;
      const auto since = phase_since_;
      hold.unlock();
      const std::string trouble = look(phase, since, interval);
      if (!trouble.empty()) {
        tell(trouble, interval);
        end(trouble);
        return;
      }
      hold.lock();
    }
  }

  // Empty while all is well.
  std::string look(const std::string& phase, Clock::time_point phase_since, Milliseconds patience) {
    const auto now = Clock::now();
    std::string doing = phase;
    auto until = phase_since + Milliseconds(group_->timeout.load());
    const std::string gone = "the store is gone, which " + group_->person(0) + " or its launcher keeps: closed by peer, in ";
    if (store_gone_) return doing.empty() && !under_way(patience, doing) ? "" : gone + doing;
    try {
      beat();
      const std::string told = read(kFailure);
      if (phase.empty()) {
        if (const auto work = under_way(patience, doing)) until = work->deadline();
        if (Clock::now() - last_free_ > deadline_ + patience) return "oneCCL does not return from a call";
      }
      if (doing.empty()) {
        watching_ = false;
        return "";
      }
      if (!told.empty()) return told;
      const std::string missing = ask(now);
      if (!missing.empty()) return missing + ", in " + doing;
    } catch (const std::exception&) {
      // Where nobody waits for anybody, the next operation will say so.
      store_gone_ = true;
      return doing.empty() ? "" : gone + doing;
    }
    return now > until ? "timed out waiting in " + doing + late() : "";
  }

  // The oldest operation under way and its name.
  c10::intrusive_ptr<CclWork> under_way(Milliseconds patience, std::string& doing) {
    bool stuck = false;
    const auto work = Engine::get().oldest_of(*group_, patience, stuck);
    if (!stuck) last_free_ = Clock::now();
    if (work) doing = work->title();
    return work;
  }

  // Who gave no sign of life for too long; empty if all did.
  std::string ask(Clock::time_point now) {
    for (int rank = 0; rank < group_->size; ++rank) {
      if (rank == group_->rank) continue;
      const std::string sign = read(key(rank));
      auto& seen = seen_[rank];
      if (!watching_ || sign != seen.sign) seen = {sign, now};
      if (sign == "left" && now - seen.since > deadline_ / 2) {
        return group_->person(rank) + " left the group (closed by peer)";
      }
      // A rank that never came is waited for as long as the group's timeout says.
      if (!sign.empty() && sign != "left" && now - seen.since > deadline_) {
        return "timed out waiting for " + group_->person(rank) + ": no sign of life for " +
               std::to_string(deadline_.count()) + " ms";
      }
    }
    watching_ = true;
    return "";
  }

  // The ranks that have begun fewer operations than this one.
  std::string late() const {
    std::string names;
    for (int rank = 0; rank < group_->size; ++rank) {
      if (rank == group_->rank) continue;
      const std::string& sign = seen_[rank].sign;
      const auto space = sign.find(' ');
      const uint64_t begun = space == std::string::npos ? 0 : std::stoull(sign.substr(space + 1));
      if (begun < group_->sequence.load()) {
        names += (names.empty() ? "; behind: " : ", ") + group_->person(rank) + " at operation " + std::to_string(begun);
      }
    }
    return names.empty() ? "; all ranks have begun it" : names;
  }

  // The first to notice tells the others. Rank 0 often keeps the store: it stays until they have read.
  void tell(const std::string& trouble, Milliseconds interval) {
    try {
      if (read(kFailure).empty()) store_->set(kFailure, text(trouble));
      if (group_->rank == 0) std::this_thread::sleep_for(2 * interval);
    } catch (const std::exception&) {
      // Without the store they notice that.
    }
  }

  // Whoever waits gets an error. Only where oneCCL itself is stuck does the process end here.
  void end(const std::string& trouble) {
    const std::string message = group_->fail(trouble);
    const bool free = Engine::get().give_up(group_, deadline_);
    bool waiting;
    {
      std::unique_lock<std::mutex> hold(mutex_);
      waiting = !wake_.wait_for(hold, deadline_, [this] { return stopping_ || phase_.empty(); });
    }
    if (!free || waiting) {
      std::fprintf(stderr, "%s\n", message.c_str());
      std::fflush(stderr);
      _exit(1);
    }
  }

  c10::intrusive_ptr<c10d::Store> store_;
  std::shared_ptr<Group> group_;
  const Milliseconds deadline_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::string phase_;
  Clock::time_point phase_since_ = Clock::now();
  uint64_t beats_ = 0;
  bool watching_ = false;
  bool store_gone_ = false;
  Clock::time_point last_free_ = Clock::now();
  std::vector<Seen> seen_;
  std::thread thread_;
};

}  // namespace icefield
