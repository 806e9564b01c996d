// Tensors as oneCCL takes them: one block of memory, a count and a type.
#pragma once

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include <cstring>
#include <optional>

#include <oneapi/ccl.hpp>

namespace icefield {

using Tensors = std::vector<at::Tensor>;
using Counts = std::vector<size_t>;

constexpr auto kBytes = ccl::datatype::uint8;

inline void check_tensor(const at::Tensor& tensor) {
  TORCH_CHECK(tensor.device().is_cpu(), "icefield-ccl: tensors must be on the CPU; this one is on ", tensor.device());
  TORCH_CHECK(tensor.layout() == at::kStrided, "icefield-ccl: tensors must be dense; this one is ", tensor.layout());
}

inline const at::Tensor& only(const Tensors& tensors) {
  TORCH_CHECK(tensors.size() == 1, "icefield-ccl: one tensor expected, not ", tensors.size());
  check_tensor(tensors[0]);
  return tensors[0];
}

inline void check_alike(const at::Tensor& one, const at::Tensor& other) {
  check_tensor(other);
  TORCH_CHECK(one.scalar_type() == other.scalar_type(), "icefield-ccl: tensors must be of one type; these are ",
              one.scalar_type(), " and ", other.scalar_type());
}

inline void check_same_size(const at::Tensor& one, const at::Tensor& other) {
  check_alike(one, other);
  TORCH_CHECK(one.numel() == other.numel(), "icefield-ccl: tensors must be of one size; these have ", one.numel(), " and ",
              other.numel(), " elements");
}

// The tensor itself where it is one block already, otherwise a block of its values.
inline at::Tensor block_of(const at::Tensor& tensor) {
  return tensor.detach().contiguous();
}

// The tensor itself where results can go straight there, otherwise a block to hold them.
inline at::Tensor room_for(const at::Tensor& tensor) {
  return tensor.is_contiguous() ? tensor.detach() : at::empty(tensor.sizes(), tensor.options());
}

// Bring results home from where room_for or block_of had put them.
inline void settle(const at::Tensor& tensor, const at::Tensor& block) {
  if (tensor.numel() == 0 || tensor.data_ptr() == block.data_ptr()) return;
  at::NoGradGuard no_grad;
  tensor.detach().copy_(block.view(tensor.sizes()));
}

// All values of some tensors of one type, one after the other.
inline at::Tensor joined(const Tensors& tensors) {
  at::NoGradGuard no_grad;
  Tensors flat;
  for (const auto& tensor : tensors) flat.push_back(tensor.detach().reshape({-1}));
  return flat.size() == 1 ? flat[0].contiguous() : at::cat(flat);
}

// The reverse of joined.
inline void part(const at::Tensor& block, const Tensors& tensors) {
  at::NoGradGuard no_grad;
  int64_t begin = 0;
  for (const auto& tensor : tensors) {
    tensor.detach().copy_(block.narrow(0, begin, tensor.numel()).view(tensor.sizes()));
    begin += tensor.numel();
  }
}

inline int64_t elements_of(const Tensors& tensors) {
  int64_t sum = 0;
  for (const auto& tensor : tensors) sum += tensor.numel();
  return sum;
}

inline Counts bytes_of(const Tensors& tensors) {
  Counts counts;
  for (const auto& tensor : tensors) counts.push_back(tensor.nbytes());
  return counts;
}

// oneCCL's type for arithmetic; none where it has none (complex numbers arrive here as pairs of reals).
inline std::optional<ccl::datatype> arithmetic_type(at::ScalarType type) {
  switch (type) {
    case at::kByte:
    case at::kBool: return ccl::datatype::uint8;
    case at::kChar: return ccl::datatype::int8;
    case at::kShort: return ccl::datatype::int16;
    case at::kInt: return ccl::datatype::int32;
    case at::kLong: return ccl::datatype::int64;
    case at::kHalf: return ccl::datatype::float16;
    case at::kBFloat16: return ccl::datatype::bfloat16;
    case at::kFloat: return ccl::datatype::float32;
    case at::kDouble: return ccl::datatype::float64;
    default: return std::nullopt;
  }
}

// oneCCL's reduction; none for those over bits, which it has not. A mean is a sum, divided afterwards.
inline std::optional<ccl::reduction> arithmetic_reduction(const c10d::ReduceOp& op) {
  switch (op.op_) {
    case c10d::ReduceOp::SUM:
    case c10d::ReduceOp::AVG: return ccl::reduction::sum;
    case c10d::ReduceOp::PRODUCT: return ccl::reduction::prod;
    case c10d::ReduceOp::MIN: return ccl::reduction::min;
    case c10d::ReduceOp::MAX: return ccl::reduction::max;
    default: return std::nullopt;
  }
}

inline void check_reduction(const at::Tensor& tensor, const c10d::ReduceOp& op) {
  const auto type = tensor.scalar_type();
  TORCH_CHECK(arithmetic_type(type), "icefield-ccl: no reduction of tensors of type ", type);
  const bool bits = op.op_ == c10d::ReduceOp::BAND || op.op_ == c10d::ReduceOp::BOR || op.op_ == c10d::ReduceOp::BXOR;
  TORCH_CHECK(bits || arithmetic_reduction(op), "icefield-ccl: this reduction is not supported");
  TORCH_CHECK(!(bits || op.op_ == c10d::ReduceOp::AVG) || c10::isIntegralType(type, true) != (op.op_ == c10d::ReduceOp::AVG),
              "icefield-ccl: this reduction does not go with tensors of type ", type);
}

// Reduce rows, one per rank, over bits.
inline at::Tensor reduce_bits(const at::Tensor& rows, const c10d::ReduceOp& op) {
  at::NoGradGuard no_grad;
  auto result = rows[0].clone();
  for (int64_t row = 1; row < rows.size(0); ++row) {
    if (op.op_ == c10d::ReduceOp::BAND) result.bitwise_and_(rows[row]);
    if (op.op_ == c10d::ReduceOp::BOR) result.bitwise_or_(rows[row]);
    if (op.op_ == c10d::ReduceOp::BXOR) result.bitwise_xor_(rows[row]);
  }
  return result;
}

}  // namespace icefield
