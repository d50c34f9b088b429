// One stream does all the work of a collective, so that its order is that of the code.
#include "core/backends/cuda/collective_copies.h"

#include <algorithm>
#include <array>
#include <vector>

namespace hloscope::replay::cuda {

using Array = CollectiveForm::Array;
using Member = CollectiveMember;

namespace {

// Of what one call of NCCL would send, or of a reduce-scatter receive.
int64_t BytesOf(const Array& array) { return array.count * array.element_bytes; }

Address At(Address array, size_t piece, const Array& of) {
  return array + piece * static_cast<Address>(BytesOf(of));
}

}  // namespace

// One collective.
class CollectiveCopies::Work {
 public:
  Work(CollectiveCopies& copies, hlo::InstructionId id, const CollectiveForm& form,
       std::span<const Member> members)
      : copies_(copies),
        driver_(copies.gpus_[0]->driver()),
        id_(id),
        form_(form),
        members_(members),
        first_(members[0]) {}

  Status Run() {
    Status status = Everything();
    // Somebody else does it then, with nothing of it still under way.
    if (!status.has_value() && copies_.gpus_[first_.gpu]->Enter().has_value()) {
      driver_->StreamSynchronize(first_.stream);
    }
    return status;
  }

 private:
  Status Everything() {
    for (const Member& member : members_.subspan(1)) HLOSCOPE_TRY(WaitFor(member, first_));
    HLOSCOPE_TRY(copies_.gpus_[first_.gpu]->Enter());
    for (size_t a = 0; a < form_.arrays.size(); ++a) {
      if (BytesOf(form_.arrays[a]) > 0) HLOSCOPE_TRY(RunArray(a));
    }
    for (const Member& member : members_.subspan(1)) HLOSCOPE_TRY(WaitFor(first_, member));
    return {};
  }

  // What is put on the second stream from now on comes behind what is on the first.
  Status WaitFor(const Member& first, const Member& second) {
    HLOSCOPE_TRY(copies_.gpus_[first.gpu]->Enter());
    HLOSCOPE_ASSIGN_OR_RETURN(EventHandle const mark, copies_.MarkOf(first.gpu));
    HLOSCOPE_TRY(driver_.Check(driver_->EventRecord(mark, first.stream), "marking a stream"));
    HLOSCOPE_TRY(copies_.gpus_[second.gpu]->Enter());
    return driver_.Check(driver_->StreamWaitEvent(second.stream, mark, 0),
                         "letting a device wait for another");
  }

  Status RunArray(size_t a) {
    const Array& array = form_.arrays[a];
    switch (form_.kind) {
      case CollectiveKind::kAllReduce:
        HLOSCOPE_TRY(Reduce(first_.to[a], a, 0));
        for (const Member& member : members_.subspan(1)) {
          HLOSCOPE_TRY(Copy(first_, first_.to[a], member, member.to[a], BytesOf(array)));
        }
        return {};
      case CollectiveKind::kReduceScatter: {
        HLOSCOPE_ASSIGN_OR_RETURN(const Address sum, Scratch(0, array));
        for (size_t piece = 0; piece < members_.size(); ++piece) {
          const Member& to = members_[piece];
          HLOSCOPE_TRY(Reduce(sum, a, piece));
          HLOSCOPE_TRY(Copy(first_, sum, to, to.to[a], BytesOf(array)));
        }
        return {};
      }
      case CollectiveKind::kAllGather:
        for (const Member& to : members_) {
          for (size_t piece = 0; piece < members_.size(); ++piece) {
            const Member& from = members_[piece];
            HLOSCOPE_TRY(Copy(from, from.from[a], to, At(to.to[a], piece, array), BytesOf(array)));
          }
        }
        return {};
      case CollectiveKind::kBroadcast:
        for (const Member& to : members_) {
          HLOSCOPE_TRY(Copy(first_, first_.from[a], to, to.to[a], BytesOf(array)));
        }
        return {};
      case CollectiveKind::kExchange:
        return Exchange(a);
      case CollectiveKind::kPermute:
        return Permute(a);
    }
    return {};
  }

  // What a part of the tree comes to: an operand, or numbers on the first member's GPU.
  struct Sum {
    const Member* of;
    Address at;
    int level;
  };

  // A piece of everybody's array, reduced as the evaluator does: neighbours in pairs, an odd last
  // one carried over, and the same again.
  Status Reduce(Address to, size_t a, size_t piece) {
    const Array& array = form_.arrays[a];
    std::vector<Sum> stack;
    for (const Member& member : members_) {
      stack.push_back({&member, At(member.from[a], piece, array), 0});
      while (stack.size() > 1 && stack[stack.size() - 2].level == stack.back().level) {
        HLOSCOPE_TRY(Together(stack, to, array));
      }
    }
    while (stack.size() > 1) HLOSCOPE_TRY(Together(stack, to, array));
    return Copy(*stack[0].of, stack[0].at, first_, to, BytesOf(array));
  }

  Status Together(std::vector<Sum>& stack, Address to, const Array& array) {
    const Sum right = stack.back();
    stack.pop_back();
    Sum& left = stack.back();
    if (left.level == 0) {
      Address place = to;
      if (stack.size() > 1) {
        HLOSCOPE_ASSIGN_OR_RETURN(place, Scratch(stack.size(), array));
      }
      HLOSCOPE_TRY(Copy(*left.of, left.at, first_, place, BytesOf(array)));
      left = {&first_, place, 0};
    }
    left.level = std::max(left.level, right.level) + 1;
    return Accumulate(left.at, right, array);
  }

  Status Accumulate(Address to, const Sum& right, const Array& array) {
    Address from = right.at;
    if (right.of->gpu != first_.gpu) {
      HLOSCOPE_ASSIGN_OR_RETURN(from, Scratch(1, array));
      HLOSCOPE_TRY(Copy(*right.of, right.at, first_, from, BytesOf(array)));
    }
    HLOSCOPE_ASSIGN_OR_RETURN(const HelperKernel* const kernel,
                              copies_.KernelOf(first_.gpu, array.type, form_.reduction));
    auto count = static_cast<uint64_t>(array.count);
    const std::array<void*, 3> parameters = {&to, &from, &count};
    const DeviceScope scope(*copies_.recorder_, id_, first_.stream, [&] {
      profiler::cupti::Activity activity;
      activity.name = kernel->entry();
      return activity;
    });
    const DeviceRecorder::Turn turn(*copies_.recorder_, id_, first_.stream);
    return kernel->Launch(first_.stream, count, parameters);
  }

  // 0: a reduction before it is handed over; 1: what comes from another GPU; from 2 on sums.
  Result<Address> Scratch(size_t which, const Array& array) {
    return copies_.ScratchOf(first_, static_cast<int>(which), BytesOf(array));
  }

  Status Exchange(size_t a) {
    const Array& array = form_.arrays[a];
    if (form_.is_one_piece_each) {  // array r is for member r, and from it
      for (size_t to = 0; to < members_.size(); ++to) {
        const Member& sender = members_[a];
        HLOSCOPE_TRY(
            Copy(sender, sender.from[to], members_[to], members_[to].to[a], BytesOf(array)));
      }
      return {};
    }
    for (size_t from = 0; from < members_.size(); ++from) {
      for (size_t to = 0; to < members_.size(); ++to) {
        HLOSCOPE_TRY(Copy(members_[from], At(members_[from].from[a], to, array), members_[to],
                          At(members_[to].to[a], from, array), BytesOf(array)));
      }
    }
    return {};
  }

  // Zeros for those that nobody sends anything.
  Status Permute(size_t a) {
    const Array& array = form_.arrays[a];
    for (const Member& to : members_) {
      const auto pair = std::ranges::find(form_.pairs, to.device, [](auto& p) { return p.second; });
      if (pair == form_.pairs.end()) {
        HLOSCOPE_TRY(copies_.gpus_[to.gpu]->Enter());
        HLOSCOPE_TRY(driver_.Check(
            driver_->SetBytes(to.to[a], 0, static_cast<size_t>(array.result_bytes), to.stream),
            "filling {} bytes with zeros", array.result_bytes));
        HLOSCOPE_TRY(copies_.gpus_[first_.gpu]->Enter());
        continue;
      }
      const auto from = std::ranges::find(members_, pair->first, &Member::device);
      HLOSCOPE_TRY(Copy(*from, from->from[a], to, to.to[a], BytesOf(array)));
    }
    return {};
  }

  Status Copy(const Member& from, Address source, const Member& to, Address target, int64_t bytes) {
    if (source == target) return {};
    const auto size = static_cast<size_t>(bytes);
    const DeviceScope scope(*copies_.recorder_, id_, first_.stream,
                            [&] { return CopyActivity("copy device to device", bytes); });
    const bool is_here = from.gpu == first_.gpu && to.gpu == first_.gpu;
    return driver_.Check(
        is_here ? driver_->CopyOnDevice(target, source, size, first_.stream)
                : driver_->CopyBetween(target, copies_.gpus_[to.gpu]->context(), source,
                                       copies_.gpus_[from.gpu]->context(), size, first_.stream),
        "copying {} bytes from device {} to device {}", bytes, from.device, to.device);
  }

  CollectiveCopies& copies_;
  const Driver& driver_;
  hlo::InstructionId id_;
  const CollectiveForm& form_;
  std::span<const Member> members_;
  const Member& first_;
};

CollectiveCopies::CollectiveCopies(std::vector<std::shared_ptr<const Device>> gpus,
                                   std::shared_ptr<DeviceRecorder> recorder)
    : gpus_(std::move(gpus)), recorder_(std::move(recorder)), marks_(gpus_.size()) {}

Status CollectiveCopies::Enqueue(hlo::InstructionId id, const CollectiveForm& form,
                                 std::span<const Member> members) {
  return Work(*this, id, form, members).Run();
}

Result<const HelperKernel*> CollectiveCopies::KernelOf(size_t gpu, int type, int reduction) {
  const std::tuple key(gpu, type, reduction);
  auto found = kernels_.find(key);
  if (found == kernels_.end()) {
    HLOSCOPE_ASSIGN_OR_RETURN(
        HelperKernel made,
        HelperKernel::Load(gpus_[gpu], AccumulateEntry(type, reduction),
                           AccumulateCode(type, reduction),
                           recorder_->code().empty() ? nullptr : &recorder_->code()));
    found = kernels_.emplace(key, std::move(made)).first;
  }
  return &found->second;
}

Result<EventHandle> CollectiveCopies::MarkOf(size_t gpu) {
  if (!marks_[gpu]) {
    HLOSCOPE_ASSIGN_OR_RETURN(marks_[gpu], MakeEvent(gpus_[gpu]));
  }
  return marks_[gpu].get();
}

Result<Address> CollectiveCopies::ScratchOf(const Member& member, int which, int64_t bytes) {
  Scratch& scratch = scratch_[{member.device, which}];
  if (scratch.bytes < bytes) {
    scratch = {};
    HLOSCOPE_ASSIGN_OR_RETURN(scratch.memory, AllocateOnDevice(gpus_[member.gpu], bytes));
    scratch.bytes = bytes;
  }
  return scratch.memory.get();
}

}  // namespace hloscope::replay::cuda
