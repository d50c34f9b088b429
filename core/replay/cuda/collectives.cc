// Which collectives NCCL does, and how they are put on the streams: by the device that comes last,
// for all, so that one thread is enough.
#include "core/replay/cuda/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/compile/plan/plan.h"
#include "core/replay/cuda/library_work.h"

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

std::optional<LibraryChoice> Collectives::Choices::Of(InstructionId id) const {
  const std::lock_guard lock(mutex);
  const auto it = all.find(id.index);
  if (it == all.end()) return std::nullopt;
  if (!by_plan && it->second.reason.empty()) {
    return LibraryChoice{it->second.library, "the module has no plan, so values are the host's"};
  }
  return it->second;
}

Collectives::Collectives(const hlo::Module& module, const hlo::DeviceCounts& counts,
                         std::vector<std::shared_ptr<const Device>> gpus,
                         const std::vector<std::string>& left_out,
                         std::shared_ptr<const Ranks> ranks)
    : module_(module),
      gpus_(std::move(gpus)),
      ranks_(std::move(ranks)),
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
    if (reason.empty()) {
      auto form = FormOf(module, id, counts);
      if (!form.has_value()) {
        reason = ReasonOf(form.error());
      } else if (ranks_ == nullptr) {
        reason = SharedGpu(*form, gpus_.size());
      }
      if (reason.empty()) {
        form->refused.resize(form->groups.size());
        forms_[i] = *std::move(form);
      }
    }
    choices_->all[i] = {name, std::move(reason)};
  }
}

std::shared_ptr<const LibraryChoices> Collectives::choices() const {
  return choices_->all.empty() ? nullptr : choices_;
}

std::string Collectives::NameOf(InstructionId id) const {
  return fmt::format("{} {}", hlo::ToString(module_[id].opcode), module_.name(id));
}

Result<Collectives::Pending> Collectives::ByTheHost(InstructionId id) const {
  if (ranks_ == nullptr) return Pending{id, nullptr};
  const auto choice = choices_->Of(id);
  return UnsupportedError(
      fmt::format("{}: ranks meet through NCCL alone: {}", NameOf(id),
                  choice ? choice->reason : std::string("it does no such instruction")),
      "run it in one process, without --ranks_folder, with --fallback cpu");
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
  if (form->second.refused[number]) return ByTheHost(id);
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
                            machine.devices().Meet(id, device, channel, here, {}));
  Pending pending{id, nullptr};
  if (meeting->results.empty()) {
    const bool is_one = std::ranges::all_of(meeting->instructions,
                                            [&](InstructionId other) { return other == id; });
    const Status status =
        is_one ? Enqueue(id, form->second, *group, [&] { return machine.run().Look(); })
               : UnsupportedError("devices meet at several instructions");
    if (!status.has_value() && status.error().error_class != ErrorClass::kUnsupported) {
      return std::unexpected(status.error());
    }
    if (!status.has_value()) {
      for (const InstructionId other : meeting->instructions) {
        const auto it = forms_.find(other.index);
        if (it == forms_.end()) continue;
        const auto& groups = it->second.groups;
        const auto same = std::ranges::find(groups, *group);
        if (same != groups.end()) {
          it->second.refused[static_cast<size_t>(same - groups.begin())] = true;
        }
      }
      const std::lock_guard lock(choices_->mutex);
      choices_->all[id.index].reason = ReasonOf(status.error());
    }
    meeting->results.push_back(status.has_value() ? eval::Value::Token()
                                                  : eval::Value::Missing(status.error()));
  }
  if (meeting->results[0].is_missing()) return ByTheHost(id);
  pending.clique = arrivals_[static_cast<size_t>(device)].clique;
  return pending;
}

int64_t Collectives::ScratchBytes() const {
  int64_t most = 0;
  for (const auto& [id, form] : forms_) most = std::max(most, form.scratch_bytes);
  return most;
}

namespace {

// Where the pieces of each array are: in the array itself, or in scratch. `from` and `to` of calls.
struct Places {
  Address from, to;
};
std::vector<Places> PlacesOf(const CollectiveForm& form, const Collectives::Arrival& own,
                             size_t members) {
  std::vector<Places> out;
  Address free = own.scratch;
  for (size_t o = 0; o < form.arrays.size(); ++o) {
    const CollectiveForm::Array& array = form.arrays[o];
    Places& places = out.emplace_back(own.operands[o], own.results[o]);
    if (array.rows == 1) continue;
    const auto bytes = static_cast<Address>(
        compile::AlignedBytes(array.rows * array.row_bytes * static_cast<int64_t>(members)));
    if (form.kind != CollectiveKind::kAllGather) places.from = std::exchange(free, free + bytes);
    if (form.kind != CollectiveKind::kReduceScatter) places.to = std::exchange(free, free + bytes);
  }
  return out;
}

}  // namespace

Status Collectives::MovePieces(const CollectiveForm& form, std::span<const int64_t> members,
                               size_t rank, bool is_before) const {
  const Arrival& own = arrivals_[static_cast<size_t>(members[rank])];
  const Driver& driver = gpus_[0]->driver();
  const std::vector<Places> places = PlacesOf(form, own, members.size());
  for (size_t o = 0; o < form.arrays.size(); ++o) {
    const CollectiveForm::Array& array = form.arrays[o];
    if (array.rows <= 1 || array.row_bytes == 0) continue;
    const Address whole = is_before ? own.operands[o] : own.results[o];
    const Address pieces = is_before ? places[o].from : places[o].to;
    if (whole == pieces) continue;
    const auto width = static_cast<size_t>(array.row_bytes);
    const auto rows = static_cast<size_t>(array.rows);
    for (size_t piece = 0; piece < members.size(); ++piece) {
      RowsCopy copy;
      copy.width = width;
      copy.height = rows;
      RowsEnd& apart = is_before ? copy.from : copy.to;
      RowsEnd& together = is_before ? copy.to : copy.from;
      apart.device = whole + piece * width;
      apart.pitch = width * members.size();
      together.device = pieces + piece * width * rows;
      together.pitch = width;
      HLOSCOPE_TRY(
          driver.Check(driver->CopyRows(&copy, own.stream), "putting pieces one behind the other"));
    }
  }
  return {};
}

Status Collectives::Enqueue(InstructionId id, const CollectiveForm& form,
                            std::span<const int64_t> members, const std::function<Status()>& look) {
  std::vector<size_t> gpus, meeting;
  for (const int64_t member : members) {
    gpus.push_back(static_cast<size_t>(member) % gpus_.size());
    meeting.push_back(ranks_ == nullptr ? gpus.back() : static_cast<size_t>(member));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const std::shared_ptr<Clique> clique,
                            communicators_->Of(meeting, look));
  const Library& nccl = clique->library();
  const std::string name = NameOf(id);
  const auto move_pieces = [&](bool is_before) -> Status {
    for (size_t rank = 0; form.scratch_bytes > 0 && rank < members.size(); ++rank) {
      if (!IsHere(members[rank])) continue;
      HLOSCOPE_TRY(gpus_[gpus[rank]]->Enter());
      HLOSCOPE_TRY(MovePieces(form, members, rank, is_before));
    }
    return {};
  };
  HLOSCOPE_TRY(move_pieces(true));
  Status status = nccl.Check(nccl->GroupStart(), "beginning {}", name);
  for (size_t rank = 0; rank < members.size() && status.has_value(); ++rank) {
    if (!IsHere(members[rank])) continue;
    const auto device = static_cast<size_t>(members[rank]);
    status = gpus_[gpus[rank]]->Enter();
    if (status.has_value()) status = Call(form, nccl, clique->rank(rank), members, rank);
    if (!status.has_value()) {
      status.error().message += fmt::format(", in {} of device {}", name, device);
    }
  }
  const Status ended = nccl.Check(nccl->GroupEnd(), "starting {} on {} GPUs", name, gpus.size());
  if (status.has_value()) status = ended;
  if (!status.has_value()) {
    clique->Abort();  // some of it may have begun
    return status;
  }
  for (const int64_t member : members) arrivals_[static_cast<size_t>(member)].clique = clique;
  return move_pieces(false);
}

Status Collectives::Call(const CollectiveForm& form, const Library& nccl, void* communicator,
                         std::span<const int64_t> members, size_t rank) const {
  const int64_t device = members[rank];
  const Arrival& own = arrivals_[static_cast<size_t>(device)];
  const std::vector<Places> places = PlacesOf(form, own, members.size());
  for (size_t o = 0; o < form.arrays.size(); ++o) {
    const CollectiveForm::Array& array = form.arrays[o];
    const void* const from = Pointer(places[o].from);
    void* const to = Pointer(places[o].to);
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
          HLOSCOPE_TRY(nccl.Check(nccl->Send(Pointer(places[o].from + offset), count, array.type,
                                             static_cast<int>(peer), communicator, own.stream),
                                  "sending"));
          HLOSCOPE_TRY(nccl.Check(nccl->Receive(Pointer(places[o].to + offset), count, array.type,
                                                static_cast<int>(peer), communicator, own.stream),
                                  "receiving"));
        }
        break;
      case CollectiveKind::kPermute: {
        bool receives = false;
        const auto rank_of = [&](int64_t other) {
          return static_cast<int>(std::ranges::find(members, other) - members.begin());
        };
        for (const auto& [source, target] : form.pairs) {
          if (source == device) {
            HLOSCOPE_TRY(nccl.Check(
                nccl->Send(from, count, array.type, rank_of(target), communicator, own.stream),
                "sending"));
          }
          if (target != device) continue;
          receives = true;
          HLOSCOPE_TRY(nccl.Check(
              nccl->Receive(to, count, array.type, rank_of(source), communicator, own.stream),
              "receiving"));
        }
        if (receives || array.result_bytes == 0) break;
        const Driver& driver = gpus_[0]->driver();
        HLOSCOPE_TRY(
            driver.Check(driver->SetBytes(own.results[o], 0,
                                          static_cast<size_t>(array.result_bytes), own.stream),
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
        Error{ErrorClass::kDied,
              fmt::format("device {} lost the others in {}", device, NameOf(pending.id)),
              {},
              {}});
  }
  const auto failed = pending.clique->Failed(NameOf(pending.id));
  if (!failed) return {};
  Error error = failed->error;
  error.error_class = ErrorClass::kDied;
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
