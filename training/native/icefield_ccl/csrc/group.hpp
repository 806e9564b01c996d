// What the parts of a process group share: who is in it, and whether it still works.
#pragma once

#include <oneapi/ccl.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace icefield {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

struct Group {
  Group(std::string name, int rank, std::vector<std::string> hosts, Milliseconds timeout)
      : name(std::move(name)), rank(rank), size(static_cast<int>(hosts.size())), hosts(std::move(hosts)), timeout(timeout.count()) {}

  const std::string name;
  const int rank;
  const int size;
  const std::vector<std::string> hosts;  // by rank
  std::atomic<int64_t> timeout;          // milliseconds that an operation may take
  std::atomic<uint64_t> sequence{0};     // operations begun

  // Null for a group of one rank, which needs no network. Never destroyed once something failed: that may wait for ever.
  std::unique_ptr<ccl::communicator> communicator;

  std::string person(int of) const {
    return "rank " + std::to_string(of) + " on " + hosts.at(of);
  }

  std::string failure() const {
    std::lock_guard<std::mutex> hold(mutex_);
    return failure_;
  }

  // The first failure stays: later ones follow from it.
  std::string fail(const std::string& message) {
    std::lock_guard<std::mutex> hold(mutex_);
    if (failure_.empty()) failure_ = "icefield-ccl: " + person(rank) + ": " + message;
    return failure_;
  }

 private:
  mutable std::mutex mutex_;
  std::string failure_;
};

}  // namespace icefield
