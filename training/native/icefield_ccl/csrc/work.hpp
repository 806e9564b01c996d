// The handle of an operation under way.
#pragma once

#include <ATen/core/ivalue.h>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <atomic>
#include <functional>

#include "group.hpp"

namespace icefield {

class CclWork final : public c10d::Work {
 public:
  CclWork(const Group& group, c10d::OpType type, std::vector<at::Tensor> outputs, Milliseconds timeout, uint64_t sequence)
      : Work(group.rank, type),
        outputs_(std::move(outputs)),
        future_(c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()))),
        deadline_(Clock::now() + timeout),
        sequence_(sequence) {}

  bool isCompleted() override {
    return done_.load(std::memory_order_acquire);
  }

  bool isSuccess() const override {
    return done_.load(std::memory_order_acquire) && !exception_;
  }

  std::vector<at::Tensor> result() override {
    return outputs_;
  }

  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override {
    return future_;
  }

  int sourceRank() const override {
    return source_;
  }

  uint64_t getSequencenumber() const override {
    return sequence_;
  }

  bool wait(std::chrono::milliseconds timeout = kNoTimeout) override;

  void abort() override {
    TORCH_CHECK(false, "icefield-ccl: an operation under way cannot be taken back");
  }

  std::string title() const {
    return c10d::opTypeToString(opType_) + " (operation " + std::to_string(sequence_) + ")";
  }

  Clock::time_point deadline() const {
    return deadline_;
  }

  void set_source(int rank) {
    source_ = rank;
  }

  // Called once, with no lock held: callbacks of the future run here.
  void complete(std::exception_ptr error) {
    finish(error);
    done_.store(true, std::memory_order_release);
    if (error) {
      future_->setError(error);
    } else {
      future_->markCompleted(c10::IValue(outputs_));
    }
  }

 private:
  std::vector<at::Tensor> outputs_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
  std::atomic<bool> done_{false};
  Clock::time_point deadline_;
  uint64_t sequence_;
  int source_ = -1;
};

}  // namespace icefield
