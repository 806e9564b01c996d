// Drives oneCCL. With CCL_WORKER_OFFLOAD=0 it has no thread of its own: it moves on when somebody asks for progress.
//
// Whoever waits asks: so a small operation costs no switch of threads. Where nobody waits (DDP computes on while buckets
// travel) a thread of ours does. All operations of all groups are under way at once, so that the order in which
// ranks start operations of different groups does not matter.
#pragma once

#include <sched.h>
#include <time.h>

#include <condition_variable>
#include <list>
#include <optional>
#include <thread>

#include "work.hpp"

namespace icefield {

struct Operation {
  std::shared_ptr<Group> group;
  c10::intrusive_ptr<CclWork> work;
  std::function<bool()> advance;  // true when done; called with the lock held
  std::function<void()> finish;   // may be empty; called without it
};

// The wait between two looks: busy at first, since most answers come at once, then ever more out of others' way.
class Patience {
 public:
  explicit Patience(long longest_nanoseconds) : longest_(longest_nanoseconds) {}

  void reset() {
    rounds_ = 0;
  }

  void pause() {
    if (++rounds_ < kBusyRounds) {
      sched_yield();
      return;
    }
    const timespec time{0, longest_};
    nanosleep(&time, nullptr);
  }

 private:
  static constexpr int kBusyRounds = 2000;
  const long longest_;
  int rounds_ = 0;
};

class Engine {
 public:
  // Never destroyed: at the end of the process its thread may still be at work.
  static Engine& get() {
    static Engine* const engine = new Engine;
    return *engine;
  }

  // `begin` posts to oneCCL and returns how to go on; it runs with the lock held, in the order of calls.
  c10::intrusive_ptr<CclWork> submit(Operation operation, const std::function<std::function<bool()>()>& begin) {
    auto work = operation.work;
    {
      std::lock_guard<std::timed_mutex> hold(mutex_);
      const std::string failure = operation.group->failure();
      if (!failure.empty()) throw std::runtime_error(failure);
      operation.advance = begin();
      under_way_.push_back(std::move(operation));
    }
    wake_.notify_one();
    return work;
  }

  template <class Action>
  void locked(const Action& action) {
    std::lock_guard<std::timed_mutex> hold(mutex_);
    action();
  }

  // Ask for progress until the work is done; false if it is not by then.
  bool help(CclWork& work, std::optional<Clock::time_point> until) {
    ++helpers_;
    Patience patience(20'000);
    while (!work.isCompleted() && (!until || Clock::now() < *until)) {
      if (progress()) {
        patience.reset();
      } else {
        patience.pause();
      }
    }
    if (--helpers_ == 0) wake_.notify_one();
    return work.isCompleted();
  }

  // Wait until nothing is under way.
  void idle(Milliseconds timeout) {
    const auto until = Clock::now() + timeout;
    while (Clock::now() < until) {
      {
        std::lock_guard<std::timed_mutex> hold(mutex_);
        if (under_way_.empty()) return;
      }
      std::this_thread::sleep_for(Milliseconds(1));
    }
    throw std::runtime_error("earlier operations did not end");
  }

  bool busy_with(const Group& group) {
    std::lock_guard<std::timed_mutex> hold(mutex_);
    for (const auto& operation : under_way_) {
      if (operation.group.get() == &group) return true;
    }
    return false;
  }

  // The oldest operation of a group that is still under way.
  c10::intrusive_ptr<CclWork> oldest_of(const Group& group, Milliseconds patience, bool& stuck) {
    std::unique_lock<std::timed_mutex> hold(mutex_, patience);
    stuck = !hold.owns_lock();
    if (stuck) return {};
    for (const auto& operation : under_way_) {
      if (operation.group.get() == &group) return operation.work;
    }
    return {};
  }

  // End all operations of a group with its failure; false if oneCCL does not return, so that only the process can end.
  bool give_up(const std::shared_ptr<Group>& group, Milliseconds patience) {
    std::vector<c10::intrusive_ptr<CclWork>> ended;
    {
      std::unique_lock<std::timed_mutex> hold(mutex_, patience);
      if (!hold.owns_lock()) return false;
      for (auto at = under_way_.begin(); at != under_way_.end();) {
        const auto next = std::next(at);
        if (at->group == group) {
          ended.push_back(at->work);
          // oneCCL may still write into these buffers.
          abandoned_.splice(abandoned_.end(), under_way_, at);
        }
        at = next;
      }
    }
    const auto error = std::make_exception_ptr(std::runtime_error(group->failure()));
    for (const auto& work : ended) work->complete(error);
    return true;
  }

 private:
  Engine() {
    std::thread([this] { serve(); }).detach();
  }

  // True if something was done.
  bool progress() {
    std::list<Operation> done;
    std::exception_ptr error;
    {
      std::lock_guard<std::timed_mutex> hold(mutex_);
      for (auto at = under_way_.begin(); at != under_way_.end() && !error;) {
        const auto next = std::next(at);
        try {
          if (at->advance()) done.splice(done.end(), under_way_, at);
        } catch (const std::exception& problem) {
          error = std::make_exception_ptr(std::runtime_error(at->group->fail(at->work->title() + " failed: " + problem.what())));
          done.splice(done.end(), under_way_, at);
        }
        at = next;
      }
    }
    for (auto& operation : done) {
      const bool failed = error && &operation == &done.back();
      if (!failed && operation.finish) operation.finish();
      operation.work->complete(failed ? error : nullptr);
      if (failed) {
        give_up(operation.group, Milliseconds(0));
        std::lock_guard<std::timed_mutex> hold(mutex_);
        abandoned_.push_back(operation);
      }
    }
    return !done.empty();
  }

  void serve() {
    Patience patience(50'000);
    while (true) {
      {
        std::unique_lock<std::timed_mutex> hold(mutex_);
        const auto needed = [this] { return !under_way_.empty() && helpers_ == 0; };
        if (!needed()) {
          wake_.wait(hold, needed);
          patience.reset();
        }
      }
      if (progress()) {
        patience.reset();
      } else {
        patience.pause();
      }
    }
  }

  std::timed_mutex mutex_;
  std::condition_variable_any wake_;
  std::atomic<int> helpers_{0};
  std::list<Operation> under_way_;
  std::list<Operation> abandoned_;
};

inline bool CclWork::wait(std::chrono::milliseconds timeout) {
  std::optional<Clock::time_point> until;
  if (timeout != kNoTimeout) until = Clock::now() + timeout;
  TORCH_CHECK(Engine::get().help(*this, until), "icefield-ccl: timed out waiting ", timeout.count(), " ms for ", title());
  if (exception_) std::rethrow_exception(exception_);
  return true;
}

}  // namespace icefield
