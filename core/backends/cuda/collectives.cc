// Which collectives NCCL does and which are copies, and how they are put on the streams: by the
// device that comes last, for all, so that one thread is enough.
#include "core/backends/cuda/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/backends/cuda/library_work.h"
#include "core/compile/plan/plan.h"

namespace hloscope::replay::cuda {

using hlo::InstructionId;
using libraries::DeviceLibrary;
using libraries::RowOf;

namespace {

// Two devices of a group that are on one GPU; empty: there are none.
std::string SharedGpu(const CollectiveForm& form, size_t gpus) {
  for (const auto& group : form.groups) {
    std::vector<int64_t> there(gpus, -1);
    for (const int64_t device : group) {
      int64_t& other = there[static_cast<size_t>(device) % gpus];
      if (other >= 0) {
        return fmt::format("devices {} and {} are on one GPU, NCCL takes one of each",
                           std::min(device, other), std::max(device, other));
      }
      other = device;
    }
  }
  return {};
}

}  // namespace

std::optional<AlgorithmSelection> Collectives::Choices::Of(InstructionId id) const {
  const std::lock_guard lock(mutex);
  const auto it = all.find(id.index);
  if (it == all.end()) return std::nullopt;
  if (!by_plan && on_device.contains(id.index)) {
    return AlgorithmSelection{it->second.library,
                              "the module has no plan, so values are the host's"};
  }
  return it->second;
}

Collectives::Collectives(const hlo::Module& module, const hlo::DeviceCounts& counts,
                         std::vector<std::shared_ptr<const Device>> gpus,
                         const std::vector<std::string>& left_out,
                         std::shared_ptr<const Ranks> ranks,
                         std::shared_ptr<DeviceRecorder> recorder)
    : module_(module),
      gpus_(std::move(gpus)),
      ranks_(std::move(ranks)),
      recorder_(std::move(recorder)),
      copies_(gpus_, recorder_),
      arrivals_(static_cast<size_t>(counts.devices())) {
  const libraries::DeviceLibraryRow& row = RowOf(DeviceLibrary::kNccl);
  std::string name(row.name), why;
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    const InstructionId id(i);
    if (!IsCollective(module[id].opcode)) continue;
    std::string reason = why;
    if (communicators_ == nullptr && reason.empty()) {
      if (std::ranges::find(left_out, row.word) != left_out.end()) {
        why = fmt::format("{} is left out by a flag", row.name);
      } else if (auto library = Library::Open(row.library, gpus_[0]->driver().version());
                 library.has_value()) {
        name = fmt::format("{} {}", row.name, (*library)->version());
        communicators_ = std::make_unique<Communicators>(*std::move(library), gpus_, ranks_);
      } else {
        why = ReasonOf(library.error());
      }
      reason = why;
    }
    auto form = FormOf(module, id, counts);
    if (!form.has_value()) {
      reason = ReasonOf(form.error());
    } else {
      if (reason.empty() && ranks_ == nullptr) reason = SharedGpu(*form, gpus_.size());
      form->refused.resize(form->groups.size(), !reason.empty());
      forms_[i] = *std::move(form);
      choices_->on_device.insert(i);
    }
    choices_->all[i] = {name, std::move(reason)};
  }
}

std::shared_ptr<const AlgorithmSelections> Collectives::choices() const {
  return choices_->all.empty() ? nullptr : choices_;
}

std::string Collectives::NameOf(InstructionId id) const {
  return fmt::format("{} {}", hlo::ToString(module_[id].opcode), module_.name(id));
}

Result<Collectives::Pending> Collectives::ByTheHost(InstructionId id) const {
  if (ranks_ == nullptr) return Pending{id, nullptr};
  const auto choice = choices_->Of(id);
  return UnsupportedError(
      fmt::format("{}: ranks communicate through NCCL only: {}", NameOf(id),
                  choice ? choice->reason : std::string("it does not support this instruction")),
      "run it in one process, without --ranks-folder, with --fallback cpu");
}

Result<Collectives::Pending> Collectives::Run(InstructionId id, eval::Machine& machine,
                                              Arrival arrival) {
  const auto form = forms_.find(id.index);
  if (form == forms_.end()) return ByTheHost(id);
  const int64_t device = machine.device();
  const auto group = std::ranges::find_if(form->second.groups, [&](const auto& each) {
    return std::ranges::find(each, device) != each.end();
  });
  const auto number = static_cast<size_t>(group - form->second.groups.begin());
  if (ranks_ != nullptr && form->second.refused[number]) return ByTheHost(id);
  arrivals_[static_cast<size_t>(device)] = std::move(arrival);
  // As the evaluator meets; at a permute it does not.
  const int64_t channel =
      form->second.kind == CollectiveKind::kPermute
          ? -1 - int64_t{id.index}
          : std::max<int64_t>(module_.GetInt(module_[id], hlo::AttributeKey::kChannelId), 0);
  std::vector<int64_t> here;
  std::ranges::copy_if(*group, std::back_inserter(here),
                       [&](int64_t member) { return IsHere(member); });
  HLOSCOPE_ASSIGN_OR_RETURN(const auto meeting,
                            machine.devices().Rendezvous(id, device, channel, here, {}));
  if (meeting->results.empty()) {
    const bool is_one = std::ranges::all_of(meeting->instructions,
                                            [&](InstructionId other) { return other == id; });
    Status status =
        is_one ? Status() : UnsupportedError("devices rendezvous at several instructions");
    if (is_one && !form->second.refused[number]) {
      status = Enqueue(id, form->second, *group, [&](std::span<const CollectiveMember> members) {
        return EnqueueByNccl(id, form->second, members, [&] { return machine.run().Look(); });
      });
      if (!status.has_value() && status.error().error_class == ErrorClass::kUnsupported) {
        form->second.refused[number] = true;
        const std::lock_guard lock(choices_->mutex);
        choices_->all[id.index].reason = ReasonOf(status.error());
      }
    }
    if (is_one && form->second.refused[number] && ranks_ == nullptr) {
      status = Enqueue(id, form->second, *group, [&](std::span<const CollectiveMember> members) {
        return copies_.Enqueue(id, form->second, members);
      });
    }
    if (!status.has_value() && status.error().error_class != ErrorClass::kUnsupported) {
      return std::unexpected(status.error());
    }
    meeting->results.push_back(status.has_value() ? runtime::Value::Token()
                                                  : runtime::Value::Missing(status.error()));
  }
  if (meeting->results[0].is_missing()) return ByTheHost(id);
  const std::shared_ptr<Clique>& clique = arrivals_[static_cast<size_t>(device)].clique;
  return Pending{id, clique, true, clique == nullptr && Reduces(form->second.kind)};
}

int64_t Collectives::ScratchBytes() const {
  int64_t most = 0;
  for (const auto& [id, form] : forms_) most = std::max(most, form.scratch_bytes);
  return most;
}

// Pieces that are apart lie in scratch instead, one behind the other.
CollectiveMember Collectives::MemberOf(int64_t device, const CollectiveForm& form,
                                       size_t members) const {
  const Arrival& own = arrivals_[static_cast<size_t>(device)];
  CollectiveMember out;
  out.device = device;
  out.gpu = ranks_ == nullptr ? static_cast<size_t>(device) % gpus_.size() : 0;
  out.stream = own.stream;
  out.from = own.operands;
  out.to = own.results;
  if (!IsHere(device)) return out;
  Address free = own.scratch;
  for (size_t a = 0; a < form.arrays.size(); ++a) {
    const CollectiveForm::Array& array = form.arrays[a];
    if (array.rows == 1) continue;
    const auto bytes = static_cast<Address>(
        compile::AlignedBytes(array.rows * array.row_bytes * static_cast<int64_t>(members)));
    if (form.kind != CollectiveKind::kAllGather) out.from[a] = std::exchange(free, free + bytes);
    if (form.kind != CollectiveKind::kReduceScatter) out.to[a] = std::exchange(free, free + bytes);
  }
  return out;
}

Status Collectives::MovePieces(const CollectiveForm& form, const CollectiveMember& member,
                               size_t members, bool is_before) const {
  const Arrival& own = arrivals_[static_cast<size_t>(member.device)];
  const Driver& driver = gpus_[0]->driver();
  for (size_t a = 0; a < form.arrays.size(); ++a) {
    const CollectiveForm::Array& array = form.arrays[a];
    if (array.rows <= 1 || array.row_bytes == 0) continue;
    const Address whole = is_before ? own.operands[a] : own.results[a];
    const Address pieces = is_before ? member.from[a] : member.to[a];
    if (whole == pieces) continue;
    const auto width = static_cast<size_t>(array.row_bytes);
    const auto rows = static_cast<size_t>(array.rows);
    for (size_t piece = 0; piece < members; ++piece) {
      RowsCopy copy;
      copy.width = width;
      copy.height = rows;
      RowsEnd& apart = is_before ? copy.from : copy.to;
      RowsEnd& together = is_before ? copy.to : copy.from;
      apart.device = whole + piece * width;
      apart.pitch = width * members;
      together.device = pieces + piece * width * rows;
      together.pitch = width;
      HLOSCOPE_TRY(driver.Check(driver->CopyRows(&copy, own.stream), "concatenating pieces"));
    }
  }
  return {};
}

Status Collectives::Enqueue(InstructionId id, const CollectiveForm& form,
                            std::span<const int64_t> devices,
                            const std::function<Status(std::span<const CollectiveMember>)>& work) {
  std::vector<CollectiveMember> members;
  for (const int64_t device : devices) {
    members.push_back(MemberOf(device, form, devices.size()));
  }
  const DeviceScope scope(*recorder_, id);
  const auto move_pieces = [&](bool is_before) -> Status {
    if (form.scratch_bytes == 0) return {};
    for (const CollectiveMember& member : members) {
      if (!IsHere(member.device)) continue;
      HLOSCOPE_TRY(gpus_[member.gpu]->Enter());
      HLOSCOPE_TRY(MovePieces(form, member, members.size(), is_before));
    }
    return {};
  };
  HLOSCOPE_TRY(move_pieces(true));
  HLOSCOPE_TRY(work(members));
  return move_pieces(false);
}

Status Collectives::EnqueueByNccl(InstructionId id, const CollectiveForm& form,
                                  std::span<const CollectiveMember> members,
                                  const std::function<Status()>& look) {
  std::vector<size_t> meeting;
  for (const CollectiveMember& member : members) {
    meeting.push_back(ranks_ == nullptr ? member.gpu : static_cast<size_t>(member.device));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const std::shared_ptr<Clique> clique,
                            communicators_->Of(meeting, look));
  const Library& nccl = clique->library();
  const std::string name = NameOf(id);
  Status status = nccl.Check(nccl->GroupStart(), "beginning {}", name);
  for (size_t rank = 0; rank < members.size() && status.has_value(); ++rank) {
    if (!IsHere(members[rank].device)) continue;
    status = gpus_[members[rank].gpu]->Enter();
    if (status.has_value()) status = Call(form, nccl, clique->rank(rank), members, rank);
    if (!status.has_value()) {
      status.error().message += fmt::format(", in {} of device {}", name, members[rank].device);
    }
  }
  const Status ended = nccl.Check(nccl->GroupEnd(), "starting {} on {} GPUs", name, members.size());
  if (status.has_value()) status = ended;
  if (!status.has_value()) {
    clique->Abort();  // some of it may have begun
    return status;
  }
  for (const CollectiveMember& member : members) {
    arrivals_[static_cast<size_t>(member.device)].clique = clique;
  }
  return {};
}

Status Collectives::Call(const CollectiveForm& form, const Library& nccl, void* communicator,
                         std::span<const CollectiveMember> members, size_t rank) const {
  const CollectiveMember& own = members[rank];
  for (size_t o = 0; o < form.arrays.size(); ++o) {
    const CollectiveForm::Array& array = form.arrays[o];
    const void* const from = Pointer(own.from[o]);
    void* const to = Pointer(own.to[o]);
    const auto count = static_cast<size_t>(array.count);
    switch (form.kind) {
      case CollectiveKind::kAllReduce:
        HLOSCOPE_TRY(nccl.Check(
            nccl->AllReduce(from, to, count, array.type, form.reduction, communicator, own.stream),
            "reducing"));
        break;
      case CollectiveKind::kReduceScatter:
        HLOSCOPE_TRY(nccl.Check(nccl->ReduceScatter(from, to, count, array.type, form.reduction,
                                                    communicator, own.stream),
                                "reducing"));
        break;
      case CollectiveKind::kAllGather:
        HLOSCOPE_TRY(nccl.Check(
            nccl->AllGather(from, to, count, array.type, communicator, own.stream), "gathering"));
        break;
      case CollectiveKind::kBroadcast:
        HLOSCOPE_TRY(
            nccl.Check(nccl->Broadcast(from, to, count, array.type, 0, communicator, own.stream),
                       "sending to all"));
        break;
      case CollectiveKind::kExchange:
        if (form.is_one_piece_each) {
          const auto peer = static_cast<int>(o);
          HLOSCOPE_TRY(nccl.Check(
              nccl->Send(from, count, array.type, peer, communicator, own.stream), "sending"));
          HLOSCOPE_TRY(nccl.Check(
              nccl->Receive(to, count, array.type, peer, communicator, own.stream), "receiving"));
          break;
        }
        for (size_t peer = 0; peer < members.size(); ++peer) {
          const Address offset = peer * count * static_cast<Address>(array.element_bytes);
          HLOSCOPE_TRY(nccl.Check(nccl->Send(Pointer(own.from[o] + offset), count, array.type,
                                             static_cast<int>(peer), communicator, own.stream),
                                  "sending"));
          HLOSCOPE_TRY(nccl.Check(nccl->Receive(Pointer(own.to[o] + offset), count, array.type,
                                                static_cast<int>(peer), communicator, own.stream),
                                  "receiving"));
        }
        break;
      case CollectiveKind::kPermute: {
        bool receives = false;
        const auto rank_of = [&](int64_t other) {
          return static_cast<int>(std::ranges::find(members, other, &CollectiveMember::device) -
                                  members.begin());
        };
        for (const auto& [source, target] : form.pairs) {
          if (source == own.device) {
            HLOSCOPE_TRY(nccl.Check(
                nccl->Send(from, count, array.type, rank_of(target), communicator, own.stream),
                "sending"));
          }
          if (target != own.device) continue;
          receives = true;
          HLOSCOPE_TRY(nccl.Check(
              nccl->Receive(to, count, array.type, rank_of(source), communicator, own.stream),
              "receiving"));
        }
        if (receives || array.result_bytes == 0) break;
        const Driver& driver = gpus_[0]->driver();
        HLOSCOPE_TRY(driver.Check(
            driver->SetBytes(own.to[o], 0, static_cast<size_t>(array.result_bytes), own.stream),
            "filling {} bytes with zeros", array.result_bytes));
        break;
      }
    }
  }
  return {};
}

Status Collectives::Look(const Pending& pending, int64_t device) const {
  if (ranks_ != nullptr) {
    if (Status status = ranks_->Look(); !status.has_value()) {
      pending.clique->Abort();
      return status;
    }
  }
  if (pending.clique->is_aborted()) {
    return std::unexpected(
        Error{ErrorClass::kCrashed,
              fmt::format("device {} lost the other devices in {}", device, NameOf(pending.id)),
              {},
              {}});
  }
  const auto failed = pending.clique->Failed(NameOf(pending.id));
  if (!failed) return {};
  if (ranks_ != nullptr) {
    // NCCL may know of a failure before its rank has told why.
    if (Status status = ranks_->LookAgain(); !status.has_value()) {
      pending.clique->Abort();
      return status;
    }
  }
  Error error = failed->error;
  error.error_class = ErrorClass::kCrashed;
  const auto form = forms_.find(pending.id.index);
  for (const auto& group : form->second.groups) {
    if (std::ranges::find(group, device) == group.end()) continue;
    const int64_t there = group[failed->rank];
    error.message += ranks_ != nullptr ? fmt::format(", in rank {}", there)
                                       : fmt::format(", on device {} (GPU {})", there,
                                                     static_cast<size_t>(there) % gpus_.size());
  }
  pending.clique->Abort();
  return std::unexpected(std::move(error));
}

}  // namespace hloscope::replay::cuda
