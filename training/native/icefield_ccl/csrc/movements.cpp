// Operations that only move values: types do not matter to them, oneCCL moves bytes.
#include "process_group.hpp"

namespace icefield {

// Gather blocks of all ranks into one, in order of rank.
void ProcessGroupCcl::post_gather(const at::Tensor& block, const at::Tensor& room, const Counts& bytes,
                                  std::vector<ccl::event>& events) {
  if (room.nbytes() == 0) return;
  if (group_->size == 1) {
    std::memmove(room.data_ptr(), block.data_ptr(), block.nbytes());
    return;
  }
  events.push_back(ccl::allgatherv(block.data_ptr(), block.nbytes(), room.data_ptr(), bytes, kBytes, communicator()));
}

WorkPtr ProcessGroupCcl::broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) {
  const auto& tensor = only(tensors);
  check_rank(options.rootRank, "root");
  const auto block = group_->rank == options.rootRank ? block_of(tensor) : room_for(tensor);
  const auto begin = [&](auto& events) {
    if (group_->size == 1 || block.numel() == 0) return;
    events.push_back(ccl::broadcast(block.data_ptr(), block.nbytes(), kBytes, static_cast<int>(options.rootRank), communicator()));
  };
  const auto finish = [tensor, block, is_root = group_->rank == options.rootRank] {
    if (!is_root) settle(tensor, block);
  };
  return run({c10d::OpType::BROADCAST, tensors, options.timeout}, begin, finish, {block});
}

WorkPtr ProcessGroupCcl::allgather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) {
  const auto& input = only(inputs);
  TORCH_CHECK(outputs.size() == 1 && static_cast<int>(outputs[0].size()) == group_->size,
              "icefield-ccl: one output per rank expected");
  const Tensors places = outputs[0];
  for (const auto& place : places) check_alike(input, place);
  check_same_size(input, places[group_->rank]);
  const auto block = block_of(input);
  const auto room = at::empty({elements_of(places)}, input.options());
  const auto begin = [&](auto& events) { post_gather(block, room, bytes_of(places), events); };
  return run({c10d::OpType::ALLGATHER, places, options.timeout}, begin, [room, places] { part(room, places); }, {block, room});
}

WorkPtr ProcessGroupCcl::run_allgather(const Settings& settings, const Tensors& inputs, const Tensors& outputs) {
  TORCH_CHECK(inputs.size() == outputs.size(), "icefield-ccl: ", inputs.size(), " inputs for ", outputs.size(), " outputs");
  Tensors blocks, rooms;
  for (size_t index = 0; index < inputs.size(); ++index) {
    check_tensor(inputs[index]);
    check_alike(inputs[index], outputs[index]);
    TORCH_CHECK(outputs[index].numel() == inputs[index].numel() * group_->size, "icefield-ccl: an output of ",
                outputs[index].numel(), " elements does not hold ", group_->size, " times ", inputs[index].numel());
    blocks.push_back(block_of(inputs[index]));
    rooms.push_back(room_for(outputs[index]));
  }
  const auto begin = [&](auto& events) {
    for (size_t index = 0; index < blocks.size(); ++index) {
      post_gather(blocks[index], rooms[index], Counts(group_->size, blocks[index].nbytes()), events);
    }
  };
  const auto finish = [outputs, rooms] {
    for (size_t index = 0; index < rooms.size(); ++index) settle(outputs[index], rooms[index]);
  };
  return run(settings, begin, finish, blocks);
}

WorkPtr ProcessGroupCcl::_allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& options) {
  return run_allgather({c10d::OpType::_ALLGATHER_BASE, {output}, options.timeout}, {input}, {output});
}

WorkPtr ProcessGroupCcl::allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) {
  return run_allgather({c10d::OpType::COALESCED, outputs, options.timeout}, inputs, outputs);
}

// Outputs are listed by rank, then by input.
WorkPtr ProcessGroupCcl::allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) {
  TORCH_CHECK(static_cast<int>(outputs.size()) == group_->size, "icefield-ccl: one list of outputs per rank expected");
  Tensors blocks, rooms, all;
  for (const auto& list : outputs) {
    TORCH_CHECK(list.size() == inputs.size(), "icefield-ccl: ", inputs.size(), " inputs for ", list.size(), " outputs");
    for (size_t index = 0; index < inputs.size(); ++index) check_same_size(inputs[index], list[index]);
    all.insert(all.end(), list.begin(), list.end());
  }
  for (const auto& input : inputs) {
    check_tensor(input);
    blocks.push_back(block_of(input));
    rooms.push_back(at::empty({group_->size, input.numel()}, input.options()));
  }
  const auto begin = [&](auto& events) {
    for (size_t index = 0; index < blocks.size(); ++index) {
      post_gather(blocks[index], rooms[index], Counts(group_->size, blocks[index].nbytes()), events);
    }
  };
  const auto finish = [outputs, rooms] {
    for (size_t rank = 0; rank < outputs.size(); ++rank) {
      for (size_t index = 0; index < rooms.size(); ++index) part(rooms[index][static_cast<int64_t>(rank)], {outputs[rank][index]});
    }
  };
  return run({c10d::OpType::ALLGATHER_COALESCED, all, options.timeout}, begin, finish, blocks);
}

// Send a part of the input to each rank and put what they send one after the other into the output.
WorkPtr ProcessGroupCcl::exchange(const Settings& settings, const at::Tensor& input, const Counts& input_bytes,
                                  const at::Tensor& output, const Counts& output_bytes, std::function<void()> finish) {
  const auto begin = [&](auto& events) {
    if (group_->size == 1) {
      if (input.nbytes() > 0) std::memmove(output.data_ptr(), input.data_ptr(), input.nbytes());
      return;
    }
    events.push_back(ccl::alltoallv(input.data_ptr(), input_bytes, output.data_ptr(), output_bytes, kBytes, communicator()));
  };
  return run(settings, begin, std::move(finish), {input, output});
}

WorkPtr ProcessGroupCcl::gather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::GatherOptions& options) {
  const auto& input = only(inputs);
  check_rank(options.rootRank, "root");
  const bool is_root = group_->rank == options.rootRank;
  TORCH_CHECK(is_root ? outputs.size() == 1 && static_cast<int>(outputs[0].size()) == group_->size : outputs.empty(),
              "icefield-ccl: one output per rank expected at the root of a gather, none elsewhere");
  const Tensors places = is_root ? outputs[0] : Tensors();
  for (const auto& place : places) check_same_size(input, place);
  Counts input_bytes(group_->size, 0);
  input_bytes[options.rootRank] = input.nbytes();
  const auto room = at::empty({elements_of(places)}, input.options());
  return exchange({c10d::OpType::GATHER, places, options.timeout}, block_of(input), input_bytes, room,
                  is_root ? bytes_of(places) : Counts(group_->size, 0), [room, places] { part(room, places); });
}

WorkPtr ProcessGroupCcl::scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ScatterOptions& options) {
  const auto& output = only(outputs);
  check_rank(options.rootRank, "root");
  const bool is_root = group_->rank == options.rootRank;
  TORCH_CHECK(is_root ? inputs.size() == 1 && static_cast<int>(inputs[0].size()) == group_->size : inputs.empty(),
              "icefield-ccl: one input per rank expected at the root of a scatter, none elsewhere");
  for (const auto& list : inputs) {
    for (const auto& input : list) check_same_size(output, input);
  }
  Counts output_bytes(group_->size, 0);
  output_bytes[options.rootRank] = output.nbytes();
  const auto room = room_for(output);
  return exchange({c10d::OpType::SCATTER, outputs, options.timeout},
                  is_root ? joined(inputs[0]) : at::empty({0}, output.options()),
                  is_root ? bytes_of(inputs[0]) : Counts(group_->size, 0), room, output_bytes,
                  [room, output] { settle(output, room); });
}

WorkPtr ProcessGroupCcl::alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) {
  TORCH_CHECK(static_cast<int>(inputs.size()) == group_->size && static_cast<int>(outputs.size()) == group_->size,
              "icefield-ccl: one input and one output per rank expected");
  for (const auto& tensor : inputs) check_alike(inputs[0], tensor);
  for (const auto& tensor : outputs) check_alike(inputs[0], tensor);
  const auto room = at::empty({elements_of(outputs)}, outputs[0].options());
  return exchange({c10d::OpType::ALLTOALL, outputs, options.timeout}, joined(inputs), bytes_of(inputs), room, bytes_of(outputs),
                  [room, outputs = outputs] { part(room, outputs); });
}

Counts ProcessGroupCcl::split_bytes(const at::Tensor& tensor, const std::vector<int64_t>& splits) const {
  const int64_t rows = tensor.dim() == 0 ? 1 : tensor.size(0);
  if (splits.empty()) {
    TORCH_CHECK(rows % group_->size == 0, "icefield-ccl: ", rows, " rows do not divide by ", group_->size, " ranks");
    return Counts(group_->size, tensor.nbytes() / group_->size);
  }
  TORCH_CHECK(static_cast<int>(splits.size()) == group_->size, "icefield-ccl: one split per rank expected");
  const size_t row_bytes = rows == 0 ? 0 : tensor.nbytes() / rows;
  Counts bytes;
  int64_t sum = 0;
  for (const int64_t split : splits) {
    bytes.push_back(split * row_bytes);
    sum += split;
  }
  TORCH_CHECK(sum == rows, "icefield-ccl: splits add up to ", sum, ", the tensor has ", rows, " rows");
  return bytes;
}

WorkPtr ProcessGroupCcl::alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<int64_t>& output_splits,
                                       std::vector<int64_t>& input_splits, const c10d::AllToAllOptions& options) {
  check_tensor(input);
  check_alike(input, output);
  const auto room = room_for(output);
  return exchange({c10d::OpType::ALLTOALL_BASE, {output}, options.timeout}, block_of(input), split_bytes(input, input_splits), room,
                  split_bytes(output, output_splits), [room, output] { settle(output, room); });
}

}  // namespace icefield
