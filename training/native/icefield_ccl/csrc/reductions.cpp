// All-reduce, reduce and reduce-scatter.
#include "process_group.hpp"

namespace icefield {

namespace {

bool over_bits(const c10d::ReduceOp& op) {
  return !arithmetic_reduction(op);
}

void divide_if_mean(const at::Tensor& block, const c10d::ReduceOp& op, int size) {
  at::NoGradGuard no_grad;
  if (op.op_ == c10d::ReduceOp::AVG) block.div_(size);
}

}  // namespace

// Sums over bits are made here of all ranks' values: rare, and oneCCL has none.
at::Tensor ProcessGroupCcl::rows_for(const at::Tensor& block, const c10d::ReduceOp& op) const {
  return over_bits(op) ? at::empty({group_->size, block.numel()}, block.options()) : at::Tensor();
}

void ProcessGroupCcl::post_rows(const at::Tensor& block, const at::Tensor& rows, std::vector<ccl::event>& events) {
  post_gather(block, rows, Counts(group_->size, block.nbytes()), events);
}

WorkPtr ProcessGroupCcl::run_allreduce(const Settings& settings, const Tensors& tensors, const c10d::ReduceOp& op) {
  for (const auto& tensor : tensors) {
    check_alike(tensors[0], tensor);
    check_reduction(tensor, op);
  }
  const auto block = tensors.size() == 1 ? block_of(tensors[0]) : joined(tensors);
  const auto rows = rows_for(block, op);
  const auto begin = [&](auto& events) {
    if (rows.defined()) return post_rows(block, rows, events);
    if (group_->size == 1 || block.numel() == 0) return;
    events.push_back(ccl::allreduce(block.data_ptr(), block.data_ptr(), block.numel(), *arithmetic_type(block.scalar_type()),
                                    *arithmetic_reduction(op), communicator()));
  };
  const auto finish = [block, rows, tensors, op, size = group_->size] {
    at::NoGradGuard no_grad;
    if (rows.defined()) block.view({-1}).copy_(reduce_bits(rows, op));
    divide_if_mean(block, op, size);
    if (tensors.size() == 1) {
      settle(tensors[0], block);
    } else {
      part(block, tensors);
    }
  };
  return run(settings, begin, finish, {block, rows});
}

WorkPtr ProcessGroupCcl::allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) {
  only(tensors);
  return run_allreduce({c10d::OpType::ALLREDUCE, tensors, options.timeout}, tensors, options.reduceOp);
}

WorkPtr ProcessGroupCcl::allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) {
  TORCH_CHECK(!tensors.empty(), "icefield-ccl: no tensors to reduce");
  return run_allreduce({c10d::OpType::ALLREDUCE_COALESCED, tensors, options.timeout}, tensors, options.reduceOp);
}

WorkPtr ProcessGroupCcl::reduce(Tensors& tensors, const c10d::ReduceOptions& options) {
  const auto& tensor = only(tensors);
  const auto op = options.reduceOp;
  check_reduction(tensor, op);
  check_rank(options.rootRank, "root");
  const bool is_root = group_->rank == options.rootRank;
  const auto input = block_of(tensor);
  // Where the others' partial sums go is up to oneCCL; their tensors stay as they are.
  const auto output = is_root ? input : at::empty_like(input);
  const auto rows = rows_for(input, op);
  const auto begin = [&](auto& events) {
    if (rows.defined()) return post_rows(input, rows, events);
    if (group_->size == 1 || input.numel() == 0) return;
    events.push_back(ccl::reduce(input.data_ptr(), output.data_ptr(), input.numel(), *arithmetic_type(input.scalar_type()),
                                 *arithmetic_reduction(op), static_cast<int>(options.rootRank), communicator()));
  };
  const auto finish = [tensor, output, rows, op, is_root, size = group_->size] {
    if (!is_root) return;
    at::NoGradGuard no_grad;
    if (rows.defined()) output.view({-1}).copy_(reduce_bits(rows, op));
    divide_if_mean(output, op, size);
    settle(tensor, output);
  };
  return run({c10d::OpType::REDUCE, tensors, options.timeout}, begin, finish, {input, output, rows});
}

WorkPtr ProcessGroupCcl::run_reduce_scatter(const Settings& settings, const Tensors& inputs, const Tensors& outputs,
                                            const c10d::ReduceOp& op) {
  TORCH_CHECK(inputs.size() == outputs.size(), "icefield-ccl: ", inputs.size(), " inputs for ", outputs.size(), " outputs");
  Tensors blocks, rooms, all_rows;
  for (size_t index = 0; index < inputs.size(); ++index) {
    check_alike(outputs[index], inputs[index]);
    check_reduction(inputs[index], op);
    TORCH_CHECK(inputs[index].numel() == outputs[index].numel() * group_->size, "icefield-ccl: an input of ", inputs[index].numel(),
                " elements cannot be scattered in parts of ", outputs[index].numel(), " over ", group_->size, " ranks");
    blocks.push_back(block_of(inputs[index]));
    rooms.push_back(room_for(outputs[index]));
    all_rows.push_back(rows_for(blocks.back(), op));
  }
  const auto begin = [&](auto& events) {
    for (size_t index = 0; index < blocks.size(); ++index) {
      const auto& block = blocks[index];
      const auto& room = rooms[index];
      if (all_rows[index].defined()) {
        post_rows(block, all_rows[index], events);
      } else if (room.numel() > 0 && group_->size == 1) {
        room.view({-1}).copy_(block.view({-1}));
      } else if (room.numel() > 0) {
        events.push_back(ccl::reduce_scatter(block.data_ptr(), room.data_ptr(), room.numel(), *arithmetic_type(block.scalar_type()),
                                             *arithmetic_reduction(op), communicator()));
      }
    }
  };
  const auto finish = [outputs, rooms, all_rows, op, rank = group_->rank, size = group_->size] {
    at::NoGradGuard no_grad;
    for (size_t index = 0; index < rooms.size(); ++index) {
      if (all_rows[index].defined()) {
        const auto mine = reduce_bits(all_rows[index], op).view({size, -1})[rank];
        rooms[index].view({-1}).copy_(mine);
      }
      divide_if_mean(rooms[index], op, size);
      settle(outputs[index], rooms[index]);
    }
  };
  Tensors keep = blocks;
  keep.insert(keep.end(), all_rows.begin(), all_rows.end());
  return run(settings, begin, finish, keep);
}

WorkPtr ProcessGroupCcl::reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ReduceScatterOptions& options) {
  const auto& output = only(outputs);
  TORCH_CHECK(inputs.size() == 1 && static_cast<int>(inputs[0].size()) == group_->size, "icefield-ccl: one input per rank expected");
  const auto& parts = inputs[0];
  check_same_size(output, parts[group_->rank]);
  bool even = true;
  for (const auto& tensor : parts) {
    check_alike(output, tensor);
    even = even && tensor.numel() == output.numel();
  }
  const Settings settings{c10d::OpType::REDUCE_SCATTER, outputs, options.timeout};
  if (even) return run_reduce_scatter(settings, {joined(parts)}, outputs, options.reduceOp);
  // Parts of several sizes: oneCCL has none such, so each rank reduces all and keeps its own.
  auto work_on = joined(parts);
  Tensors places;
  int64_t before = 0;
  for (int rank = 0; rank < group_->rank; ++rank) before += parts[rank].numel();
  auto work = run_allreduce({settings.type, {}, options.timeout}, {work_on}, options.reduceOp);
  const auto mine = work_on.narrow(0, before, output.numel());
  return submit({group_, new_work(settings), nullptr, [output, mine] { part(mine, {output}); }},
                [&] { return [work] { return work->isCompleted(); }; });
}

WorkPtr ProcessGroupCcl::_reduce_scatter_base(at::Tensor& output, at::Tensor& input, const c10d::ReduceScatterOptions& options) {
  return run_reduce_scatter({c10d::OpType::_REDUCE_SCATTER_BASE, {output}, options.timeout}, {input}, {output}, options.reduceOp);
}

WorkPtr ProcessGroupCcl::reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                         const c10d::ReduceScatterOptions& options) {
  return run_reduce_scatter({c10d::OpType::COALESCED, outputs, options.timeout}, inputs, outputs, options.reduceOp);
}

}  // namespace icefield
