// The backend "ccl" of torch.distributed.
#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "mailbox.hpp"
#include "store_kvs.hpp"
#include "watchdog.hpp"

namespace icefield {

using WorkPtr = c10::intrusive_ptr<c10d::Work>;

class ProcessGroupCcl final : public c10d::Backend {
 public:
  // Meets the other ranks: returns when all are connected.
  ProcessGroupCcl(const c10::intrusive_ptr<c10d::Store>& store, int rank, std::vector<std::string> hosts, Milliseconds timeout,
                  Milliseconds deadline, const std::string& name);
  ~ProcessGroupCcl() override;

  const std::string getBackendName() const override {
    return "ccl";
  }
  bool supportsCoalescing() const override {
    return true;
  }
  // Torch 2.8 has neither this in its Backend nor the options below, so they do not say that they override.
  virtual void setTimeout(std::chrono::milliseconds timeout) {
    group_->timeout = timeout.count();
  }
  void setSequenceNumberForGroup() override {}
  uint64_t getSequenceNumberForGroup() override {
    return group_->sequence;
  }
  virtual c10::intrusive_ptr<Options> getBackendOptions() {
    return c10::make_intrusive<Options>("ccl", Milliseconds(group_->timeout.load()));
  }
  // The oldest operation that this rank is in; empty where it is in none.
  std::string doing() const;
  void shutdown() override;
  void abort() override {
    shutdown();
  }

  WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override;
  WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  WorkPtr allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) override;
  WorkPtr reduce(Tensors& tensors, const c10d::ReduceOptions& options) override;
  WorkPtr reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ReduceScatterOptions& options) override;
  WorkPtr _reduce_scatter_base(at::Tensor& output, at::Tensor& input, const c10d::ReduceScatterOptions& options) override;
  WorkPtr reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs, const c10d::ReduceScatterOptions& options) override;
  WorkPtr allgather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) override;
  WorkPtr _allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& options) override;
  WorkPtr allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) override;
  WorkPtr allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) override;
  WorkPtr gather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::GatherOptions& options) override;
  WorkPtr scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ScatterOptions& options) override;
  WorkPtr alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) override;
  WorkPtr alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<int64_t>& output_splits,
                        std::vector<int64_t>& input_splits, const c10d::AllToAllOptions& options) override;
  WorkPtr send(Tensors& tensors, int to, int tag) override;
  WorkPtr recv(Tensors& tensors, int from, int tag) override;
  WorkPtr recvAnysource(Tensors& tensors, int tag) override;
  WorkPtr barrier(const c10d::BarrierOptions& options) override;
  void monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all_ranks) override;
  void startCoalescing() override;
  WorkPtr endCoalescing() override;

 private:
  // Posts to oneCCL and appends what to wait for; there may be nothing.
  using Begin = std::function<void(std::vector<ccl::event>&)>;

  struct Settings {
    c10d::OpType type;
    Tensors outputs;
    std::chrono::milliseconds timeout;
  };

  c10::intrusive_ptr<CclWork> new_work(const Settings& settings);
  WorkPtr submit(Operation operation, const std::function<std::function<bool()>()>& begin);
  // `keep` lives until the end of the operation, as does what `finish` holds.
  WorkPtr run(const Settings& settings, const Begin& begin, std::function<void()> finish, Tensors keep);
  at::Tensor rows_for(const at::Tensor& block, const c10d::ReduceOp& op) const;
  void post_rows(const at::Tensor& block, const at::Tensor& rows, std::vector<ccl::event>& events);
  void post_gather(const at::Tensor& block, const at::Tensor& room, const Counts& bytes, std::vector<ccl::event>& events);
  WorkPtr run_allreduce(const Settings& settings, const Tensors& tensors, const c10d::ReduceOp& op);
  WorkPtr run_reduce_scatter(const Settings& settings, const Tensors& inputs, const Tensors& outputs, const c10d::ReduceOp& op);
  WorkPtr run_allgather(const Settings& settings, const Tensors& inputs, const Tensors& outputs);
  WorkPtr exchange(const Settings& settings, const at::Tensor& input, const Counts& input_bytes, const at::Tensor& output,
                   const Counts& output_bytes, std::function<void()> finish);
  WorkPtr receive(const at::Tensor& tensor, int from, int tag, c10d::OpType type);
  Counts split_bytes(const at::Tensor& tensor, const std::vector<int64_t>& splits) const;
  const ccl::communicator& communicator() const {
    return *group_->communicator;
  }
  void check_rank(int64_t rank, const char* what) const {
    TORCH_CHECK(rank >= 0 && rank < group_->size, "icefield-ccl: ", what, " ", rank, " is not a rank below ", group_->size);
  }

  std::shared_ptr<Group> group_;
  c10::intrusive_ptr<c10d::Store> store_;
  const Milliseconds deadline_;
  std::shared_ptr<StoreKvs> kvs_;
  std::shared_ptr<Mailbox> mailbox_;
  std::unique_ptr<Watchdog> watchdog_;
  uint64_t barriers_ = 0;
  bool ended_ = false;
  std::optional<std::vector<WorkPtr>> coalescing_;
};

}  // namespace icefield
