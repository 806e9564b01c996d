// oneCCL's key-value store over torch's: no second server, no address that oneCCL would have to pick.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <memory>
#include <stdexcept>
#include <thread>

#include "group.hpp"

namespace icefield {

// A connection of its own, so that a call that waits in the user's thread does not hold up this one.
inline c10::intrusive_ptr<c10d::Store> own_connection(const c10::intrusive_ptr<c10d::Store>& store) {
  try {
    return store->clone();
  } catch (const std::exception&) {
    return store;  // stores written in Python cannot be cloned
  }
}

class StoreKvs final : public ccl::kvs_interface {
 public:
  StoreKvs(c10::intrusive_ptr<c10d::Store> store, std::shared_ptr<Group> group)
      : store_(std::move(store)), group_(std::move(group)) {
    static std::atomic<int> made{0};
    id_ = made++;
  }

  // Empty where the key is not there yet: oneCCL asks again.
  ccl::vector_class<char> get(const ccl::string_class& key) override {
    const std::string failure = group_->failure();
    if (!failure.empty()) throw std::runtime_error(failure);
    if (!store_->check({prefix + key})) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return {};
    }
    const auto value = store_->get(prefix + key);
    return {value.begin(), value.end()};
  }

  // oneCCL tidies up when it ends, also after the store did: that must not throw in a destructor.
  void set(const ccl::string_class& key, const ccl::vector_class<char>& data) override {
    if (closed_) return;
    store_->set(prefix + key, std::vector<uint8_t>(data.begin(), data.end()));
  }

  int get_id() override {
    return id_;
  }

  void close() {
    closed_ = true;
  }

 private:
  const std::string prefix = "ccl/kvs/";
  c10::intrusive_ptr<c10d::Store> store_;
  std::shared_ptr<Group> group_;
  std::atomic<bool> closed_{false};
  int id_;
};

}  // namespace icefield
