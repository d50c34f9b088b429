// Checker: blocks, control, and where accesses go.
#include "core/ptx/checks/checker.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>
#include <utility>

#include "core/ptx/machine/access.h"
#include "core/ptx/machine/coordinates.h"

namespace hloscope::ptx {
namespace {

// Findings of a launch beyond so many different ones say nothing new.
constexpr size_t kMaxFindings = 100;

// Shared addresses may be generic, and name the block of the cluster or not.
uint64_t BarrierAt(const Block& block, uint64_t address) {
  return InBlock(address & ((uint64_t{1} << kWindowShift) - 1), RankOf(block, address));
}
bool IsBarrier(Operation operation) {
  return operation == Operation::kBar || operation == Operation::kBarReduce;
}

// Barriers of bar.sync among the mbarriers: no address is as high.
uint64_t NamedBarrier(const Block& block, uint64_t number) {
  return uint64_t{1} << kWindowShift | block.rank << 8 | number;
}

// Whether a shuffle may take values of lanes that do not take part.
bool TakesFromOthers(const Warp& warp, const Slot* slots, uint32_t mask) {
  const Slot& members = slots[5];
  if (mask != kAllLanes) return true;
  for (uint32_t l = 0; l < kLanes; ++l)
    if (ReadLane(warp, members, l) != kAllLanes) return true;
  return false;
}

// Writes that go on beside the warp and then arrive at an mbarrier.
bool CopiesBeside(Operation operation) {
  switch (operation) {
    case Operation::kBulkLoad:
    case Operation::kBulkShared:
    case Operation::kTensorMapLoad:
    case Operation::kStoreAsync:
    case Operation::kRedAsync:
    case Operation::kBulkReduce:
    case Operation::kTryCancel:
    case Operation::kTryCancelAll:
      return true;
    default:
      return false;
  }
}

bool IsKnown(const Instruction& in) {
  if (in.type == Type::kB128) return ClassOf(in.operation) != InstructionClass::kMemory;
  switch (in.operation) {
    case Operation::kLd:
    case Operation::kSt:
    case Operation::kAtom:
    case Operation::kAtomCas:
    case Operation::kRed:
    case Operation::kCpAsync:
    case Operation::kCpAsyncIgnore:
    case Operation::kLdmatrix:
    case Operation::kStmatrix:
      return true;
    default:
      return ClassOf(in.operation) != InstructionClass::kMemory;
  }
}

}  // namespace

Checker::Checker(CheckedLaunch launch, const LaunchMemory& memory, ShadowMemory& shadow)
    : launch_(std::move(launch)),
      memory_(memory),
      shadow_(shadow),
      facts_(shadow.FactsOf(*launch_.kernel)) {
  for (const Instruction& in : launch_.kernel->instructions) wants_accesses_ |= !IsKnown(in);
  if (launch_.kernel->instructions.size() >= Stamp::kMaxInstructions) launch_.race = false;
  for (const uint32_t size : launch_.grid) blocks_ *= size;
  floor_ = shadow_.interval + 1;
  grain_ = facts_.global_grain;
  for (size_t i = 0; i < memory_.arguments.size(); ++i) {
    const Window& window = memory_.arguments[i];
    Argument& argument = arguments_.emplace_back();
    argument.region = shadow_.Find({window.data, window.bytes});
    if (argument.region == nullptr) {
      argument.all_written = true;
      continue;
    }
    argument.offset = argument.region->OffsetOf(window.data);
    argument.all_written =
        !argument.region->unwritten.AnyIn(argument.offset, argument.offset + window.bytes);
  }
  // A part of memory may be an argument twice: races are looked for wherever one that is written
  // to overlaps.
  for (size_t i = 0; i < arguments_.size(); ++i) {
    if (!facts_.writes[i]) continue;
    const uint64_t begin = arguments_[i].offset, end = begin + memory_.arguments[i].bytes;
    for (size_t k = 0; k < arguments_.size(); ++k) {
      Argument& other = arguments_[k];
      if (other.region == nullptr || other.region != arguments_[i].region) continue;
      const bool meets = other.offset < end && begin < other.offset + memory_.arguments[k].bytes;
      if (!meets) continue;
      other.races = launch_.race;
      grain_ = static_cast<uint32_t>(std::gcd(uint64_t{grain_}, other.offset));
    }
  }
}

// The blocks of a cluster are looked at as one block of all their warps, whose shared memories lie
// one behind the other.
void Checker::Starts(Block& block, uint64_t index) {
  if (block.rank > 0) return;
  block_ = &block;
  ordered_ = false;
  const size_t blocks = block.cluster->blocks.size(), warps = blocks * block.warps.size();
  shared_bytes_ = (block.shared.size() + kSharedStep - 1) / kSharedStep * kSharedStep;
  clocks_.Start(static_cast<uint32_t>(warps), shadow_.interval);
  block_starts_.emplace_back(clocks_.first(), index);
  const auto cells = static_cast<uint32_t>(blocks * shared_bytes_ / facts_.shared_grain + 1);
  if (shared_cells_.page_cells() < cells) shared_cells_ = CellTable(cells);
  const bool is_first = block_starts_.size() == 1;
  // Which blocks make a store is no matter where races are looked for as if all did.
  const bool can_repeat =
      blocks == 1 && facts_.paths.are_the_same && (launch_.race || facts_.paths.may_skip.empty());
  is_clean_ = is_first ? can_repeat : is_clean_ && findings_.empty();
  repeats_ = !is_first && is_clean_;
  absent_.fill(0);
  worked_.fill(0);
  shared_poisoned_ = read_unwritten_ = took_from_others_ = false;
  if (is_first) watched_.assign(launch_.kernel->instructions.size(), false);
  strict_cells_ = is_first && can_repeat && launch_.race && blocks_ > 1
                      ? std::make_unique<CellTable>(cells)
                      : nullptr;
  if (strict_cells_ != nullptr) maybe_unwritten_.Assign(block.shared.size(), true);
  if (!launch_.uninitialised) return;
  shared_unwritten_.Assign(blocks * shared_bytes_, !repeats_);
  if (block.local_bytes > 0) local_unwritten_.Assign(block.local_bytes * warps * kLanes, true);
  poison_.resize(warps);
  for (RegisterPoison& poison : poison_) {
    poison.Assign(launch_.kernel->register_bytes);
    for (const ByteRange& range : launch_.kernel->read_first) poison.Spoil(range);
    for (const ByteRange& range : launch_.kernel->sums_first) poison.Spoil(range);
  }
  if (facts_.has_tensor_memory) tensor_unwritten_.Assign(blocks * kTensorCells, true);
}

// At a barrier: who is elsewhere. Else: who does something that others may see.
void Checker::NoteWork(const Warp& warp, const Instruction& in, uint32_t mask) {
  const uint32_t number = warp.first_in_cluster / kLanes;
  if (IsBarrier(in.operation)) {
    absent_[number] |= warp.live & ~mask;
    worked_[number] &= ~absent_[number];
  } else {
    const InstructionClass kind = ClassOf(in.operation);
    const bool works = kind == InstructionClass::kMemory || kind == InstructionClass::kWarp ||
                       kind == InstructionClass::kTensor;
    if (works) worked_[number] |= mask;
  }
}

void Checker::Before(Warp& warp, const Instruction& in, const Slot* slots, uint32_t mask) {
  block_ = warp.block;
  NoteWork(warp, in, mask);
  switch (in.type == Type::kB128 ? Operation::kNop : in.operation) {
    case Operation::kLd:
      known_ = true;
      return Load(warp, in, slots, mask);
    case Operation::kSt:
      known_ = true;
      return Store(warp, in, slots, mask);
    case Operation::kAtom:
    case Operation::kAtomCas:
    case Operation::kRed:
      known_ = true;
      return Atomic(warp, in, slots, mask);
    case Operation::kCpAsync:
    case Operation::kCpAsyncIgnore:
      known_ = true;
      return Copy(warp, in, slots, mask);
    case Operation::kLdmatrix:
      known_ = true;
      return LoadMatrices(warp, in, slots, mask);
    case Operation::kStmatrix:
      known_ = true;
      return StoreMatrices(warp, in, slots, mask);
    default:
      break;
  }
  known_ = false;
  is_async_ = CopiesBeside(in.operation);
  if (launch_.race && facts_.has_barriers) Synchronise(warp, in, slots, mask);
  if (in.group_wide || IsTensorMultiply(in) || in.operation == Operation::kTensorCopy)
    StartProduct();
  if (in.operation == Operation::kTensorLoad || in.operation == Operation::kTensorStore)
    StartTensorAccess(in, slots);
  if (ClassOf(in.operation) == InstructionClass::kControl) Control(warp, in, slots, mask);
  if (!launch_.uninitialised) return;
  RegisterPoison& poison = PoisonOf(warp);
  const bool takes = in.operation == Operation::kShfl && TakesFromOthers(warp, slots, mask);
  took_from_others_ |= takes;
  const bool gives = ClassOf(in.operation) != InstructionClass::kControl ||
                     (in.slot_count > 0 && slots[0].written);
  if ((poison.any() || takes) && gives) poison.Follow(warp, in, slots, mask);
}

// What a bulk copy wrote is there for those who wait for its barrier; the next copy is another. A
// warp that asked for a phase knows only then whether it has ended.
void Checker::After(Warp& warp, const Instruction& in, const Slot* slots, uint32_t mask) {
  block_ = warp.block;
  if (launch_.uninitialised && in.group_wide) FollowWarpGroup(warp, in, slots);
  if (in.operation == Operation::kTensorLoad) FinishTensorLoad(warp, in, slots);
  const uint32_t number = warp.first_in_cluster / kLanes;
  if (launch_.race && in.operation == Operation::kClusterWait)
    clocks_.Leave(number, kClusterBarrier);
  if (!launch_.race || !facts_.has_barriers) return;
  if (CopiesBeside(in.operation)) return clocks_.Advance(kLanes + number, shadow_.interval);
  switch (in.operation) {
    case Operation::kBarrierWait:
    case Operation::kBarrierWaitParity: {
      const uint32_t ended = ReadMask(warp, slots[0]) & mask;
      if (ended == 0) return;
      const auto lane = static_cast<uint32_t>(std::countr_zero(ended));
      return clocks_.Leave(number, BarrierAt(*block_, AddressOf(warp, in, slots[1], lane)));
    }
    default:
      return;
  }
}

void Checker::Skips(Warp& warp, const Instruction& in, const Slot*, uint32_t mask) {
  block_ = warp.block;
  if (in.operation == Operation::kSt && MaySkip(block_->pc)) NoteSkipped(warp, block_->pc, mask);
}

void Checker::NoteSkipped(const Warp& warp, uint32_t pc, uint32_t mask) {
  if (strict_cells_ == nullptr || !is_clean_) return;
  const Kernel& kernel = *launch_.kernel;
  const Instruction& in = kernel.instructions[pc];
  const uint32_t bytes = BytesOf(in.type) * in.vector_width();
  const uint32_t before = std::exchange(block_->pc, pc);
  NoteStrictly(
      warp,
      AddressesOf(warp, in, ModifierStateSpace(in), kernel.slots[in.first_slot], 0, bytes, mask),
      true, false);
  block_->pc = before;
}

void Checker::PhaseEnds(Block& block, uint64_t address) {
  clocks_.EndPhase(address == kClusterBarrier ? address : BarrierAt(block, address));
}

void Checker::Arrive(const Warp& warp, const Instruction& in, const Slot& slot, uint32_t which,
                     uint32_t mask, bool copies, const Slot* targets) {
  const uint32_t number = warp.first_in_cluster / kLanes + (copies ? kLanes : 0);
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((mask >> l & 1) == 0) continue;
    const uint64_t address = AddressOf(warp, in, slot, l, which);
    if (targets == nullptr || targets->bytes != 2) {
      clocks_.Arrive(number, BarrierAt(*block_, address));
      continue;
    }
    const uint64_t ranks = ReadLane(warp, *targets, l);
    for (uint32_t rank = 0; rank < block_->cluster->blocks.size(); ++rank) {
      if ((ranks >> rank & 1) != 0)
        clocks_.Arrive(number, BarrierAt(*block_, InBlock(address, rank)));
    }
  }
}

void Checker::Synchronise(Warp& warp, const Instruction& in, const Slot* s, uint32_t mask) {
  const uint32_t number = warp.first_in_cluster / kLanes;
  switch (in.operation) {
    case Operation::kBarrierInit:
      for (uint32_t l = 0; l < kLanes; ++l) {
        if ((mask >> l & 1) != 0)
          clocks_.MakeBarrier(BarrierAt(*block_, AddressOf(warp, in, s[0], l)));
      }
      return;
    case Operation::kBulkLoad:
    case Operation::kBulkShared:
      return Arrive(warp, in, s[3], 2, mask, true, in.slot_count > 4 ? s + 4 : nullptr);
    case Operation::kTensorMapLoad: {
      const uint32_t barrier = 2 + TensorCoordinates(in);
      return Arrive(warp, in, s[barrier], 1, mask, true,
                    in.slot_count > barrier + 1 ? s + barrier + 1 : nullptr);
    }
    case Operation::kStoreAsync:
      return Arrive(warp, in, s[1 + in.vector_width()], 1, mask, true);
    case Operation::kRedAsync:
      return Arrive(warp, in, s[2], 1, mask, true);
    case Operation::kTryCancel:
      return Arrive(warp, in, s[1], 1, mask, true);
    case Operation::kTryCancelAll:
      for (uint32_t rank = 0; rank < block_->cluster->blocks.size(); ++rank) {
        for (uint32_t l = 0; l < kLanes; ++l) {
          if ((mask >> l & 1) == 0) continue;
          const uint64_t barrier = InBlock(AddressOf(warp, in, s[1], l, 1), rank);
          clocks_.Arrive(kLanes + number, BarrierAt(*block_, barrier));
        }
      }
      return;
    case Operation::kBulkReduce:
      if (IsShared(ModifierStateSpace(in))) Arrive(warp, in, s[3], 2, mask, true);
      return;
    case Operation::kBarrierArrive:
    case Operation::kBarrierArriveExpect:
    case Operation::kBarrierCopied:
    case Operation::kBarrierDrop:
    case Operation::kBarrierDropExpect:
    case Operation::kTensorCommit: {
      // cp.async.mbarrier.arrive has no state: it arrives for the warp's copies.
      const bool copies = in.operation == Operation::kBarrierCopied ||
                          (in.operation == Operation::kBarrierArrive && in.slot_count == 1);
      const bool has_state = in.operation != Operation::kTensorCommit && !copies;
      const bool commits = in.operation == Operation::kTensorCommit && in.slot_count > 1;
      Arrive(warp, in, s[has_state ? 1 : 0], 0, mask, copies, commits ? s + 1 : nullptr);
      return clocks_.Advance(number + (copies ? kLanes : 0), shadow_.interval);
    }
    default:
      return;
  }
}

void Checker::Control(Warp& warp, const Instruction& in, const Slot* s, uint32_t mask) {
  if (in.operation == Operation::kBra && MaySkip(block_->pc)) {
    for (uint32_t pc = block_->pc + 1; pc < in.target; ++pc) NoteSkipped(warp, pc, mask);
  }
  const bool arrives =
      in.operation == Operation::kBarArrive || in.operation == Operation::kClusterArrive;
  if (arrives && launch_.race) {
    const uint32_t number = warp.first_in_cluster / kLanes;
    const auto lane = static_cast<uint32_t>(std::countr_zero(mask));
    const uint64_t barrier = in.operation == Operation::kClusterArrive
                                 ? kClusterBarrier
                                 : NamedBarrier(*block_, ReadLane(warp, s[0], lane));
    clocks_.MakeBarrier(barrier);
    clocks_.Arrive(number, barrier);
    clocks_.Advance(number, shadow_.interval);
    return;
  }
  if (in.operation == Operation::kNop && launch_.race && !facts_.copy_groups.empty()) {
    const uint32_t number = warp.first_in_cluster / kLanes;
    const CopyGroup group = facts_.copy_groups[block_->pc];
    if (group == CopyGroup::kCommit || group == CopyGroup::kWaitAll)
      clocks_.Commit(number, shadow_.interval);
    if (group == CopyGroup::kWait) clocks_.Wait(number, in.value);
    if (group == CopyGroup::kWaitAll) clocks_.Wait(number, 0);
    return;
  }
  if (!launch_.uninitialised || in.guard == Slot::kAbsent) return;
  if (in.operation != Operation::kBra && in.operation != Operation::kRet) return;
  Slot guard{in.guard, 0};
  CheckOperand(warp, guard, mask, "branches on an uninitialised value");
}

void Checker::BarrierOpens(Block& block, uint32_t barrier) {
  block_ = &block;
  uint32_t participants = 0;
  for (const Warp& warp : block.warps) {
    const Group* first = nullptr;
    uint32_t waiting = 0;
    for (const Group& group : warp.groups) {
      if (group.state != GroupState::kWaitsAtBarrier || group.barrier != barrier) continue;
      participants |= 1u << (warp.first_in_cluster / kLanes);
      waiting |= group.mask;
      if (first == nullptr) {
        first = &group;
      } else if (first->pc != group.pc) {
        block.pc = group.pc;
        const uint32_t thread =
            warp.first_in_cluster + static_cast<uint32_t>(std::countr_zero(group.mask));
        Report(FindingKind::kBarrier,
               "is where some threads of a warp wait while others wait elsewhere", thread, nullptr,
               Stamp::Of(
                   clocks_.first(), first->pc, false,
                   warp.first_in_cluster + static_cast<uint32_t>(std::countr_zero(first->mask))));
      }
    }
    if (first != nullptr) CheckAligned(warp, *first, waiting);
    absent_[warp.first_in_cluster / kLanes] = 0;
  }
  clocks_.Meet(participants, shadow_.interval);
  // Those that arrived and went on.
  const uint64_t named = NamedBarrier(block, barrier);
  if (!clocks_.IsBarrier(named)) return;
  clocks_.EndPhase(named);
  for (uint32_t w = 0; w < kLanes; ++w) {
    if ((participants >> w & 1) != 0) clocks_.Leave(w, named);
  }
}

// bar and barrier.aligned want all threads of a warp but those that have nothing more to do than
// return.
void Checker::CheckAligned(const Warp& warp, const Group& group, uint32_t waiting) {
  const uint32_t number = warp.first_in_cluster / kLanes;
  const uint32_t missing = (warp.live | (absent_[number] & worked_[number])) & ~waiting;
  const Instruction& in = launch_.kernel->instructions[group.pc];
  const bool is_aligned =
      ModifierAligned(in) == Aligned::kOn || launch_.kernel->forms[group.pc].starts_with("bar.");
  if (missing == 0 || !is_aligned) return;
  block_->pc = group.pc;
  Report(FindingKind::kBarrier,
         "is executed by " + std::to_string(std::popcount(waiting)) + " of the " +
             std::to_string(std::popcount(waiting | missing)) +
             " threads of a warp: what it does then is undefined",
         warp.first_in_cluster + static_cast<uint32_t>(std::countr_zero(waiting)), nullptr);
}

Checker::Addresses Checker::AddressesOf(const Warp& warp, const Instruction& in, StateSpace space,
                                        Slot slot, uint32_t which, uint32_t bytes,
                                        uint32_t mask) const {
  Addresses addresses;
  addresses.space = space;
  addresses.mask = mask;
  addresses.bytes = bytes;
  const auto offset = static_cast<uint64_t>(in.offsets[which]);
  if (slot.bytes == 8) {
    const Values<uint64_t> values = Read<uint64_t>(warp, slot);
    for (uint32_t l = 0; l < kLanes; ++l) addresses.of[l] = values.v[l] + offset;
  } else {
    const Values<uint32_t> values = Read<uint32_t>(warp, slot);
    for (uint32_t l = 0; l < kLanes; ++l) addresses.of[l] = values.v[l] + offset;
  }
  return addresses;
}

Checker::Spot Checker::SpotOf(const Warp& warp, StateSpace space, uint64_t address, uint32_t lane) {
  if (IsShared(space)) return SpotIn(warp, kSharedWindow, address, lane);
  if (space == StateSpace::kLocal) return SpotIn(warp, kLocalWindow, address, lane);
  if (space == StateSpace::kParam || space == StateSpace::kParamEntry)
    return SpotIn(warp, kParamWindow, address, lane);
  return SpotIn(warp, address >> kWindowShift, address & ((uint64_t{1} << kWindowShift) - 1), lane);
}

void Checker::Move(Spot& spot, const Warp& warp, StateSpace space, uint64_t address,
                   uint32_t lane) {
  const uint64_t size = block_->shared.size();
  if (!IsShared(space) || !spot.inside || address > size || block_->cluster->blocks.size() > 1) {
    spot = SpotOf(warp, space, address, lane);
    return;
  }
  spot.offset = spot.at = address;
  spot.held = size - address;
  spot.data = block_->shared.data() + address;
}

Checker::Spot Checker::SpotIn(const Warp& warp, uint64_t window, uint64_t offset, uint32_t lane) {
  Spot spot;
  spot.window = window;
  spot.offset = offset;
  if (window == kSharedWindow) {
    const Block* owner = block_;
    if ((offset & kRankMask) != 0) {
      const uint64_t rank = RankOf(*block_, offset);
      if (rank >= block_->cluster->blocks.size()) return spot;
      owner = block_->cluster->blocks[rank];
      spot.offset = offset &= ~kRankMask;
    }
    if (offset > owner->shared.size()) return spot;
    spot.unwritten = launch_.uninitialised ? &shared_unwritten_ : nullptr;
    spot.cells = launch_.race && (!repeats_ || watched_[block_->pc]) ? &shared_cells_ : nullptr;
    spot.at = owner->rank * shared_bytes_ + offset;
    spot.held = owner->shared.size() - offset;
    spot.data = owner->shared.data() + offset;
    spot.grain = facts_.shared_grain;
    spot.inside = true;
    return spot;
  }
  if (window == kLocalWindow) {
    if (offset > block_->local_bytes) return spot;
    spot.unwritten = launch_.uninitialised ? &local_unwritten_ : nullptr;
    spot.at = block_->local_bytes * (warp.first_in_cluster + lane) + offset;
    spot.held = block_->local_bytes - offset;
    spot.data = block_->local + block_->local_bytes * (warp.first_thread + lane) + offset;
    spot.inside = true;
    return spot;
  }
  if (window < kFirstArgumentWindow || window - kFirstArgumentWindow >= arguments_.size()) {
    // Variables of the module, parameters: always written, and not looked for races.
    spot.inside = false;
    return spot;
  }
  const Argument& argument = arguments_[window - kFirstArgumentWindow];
  const Window& memory = memory_.arguments[window - kFirstArgumentWindow];
  if (offset > memory.padded) return spot;
  spot.inside = true;
  spot.held = offset < memory.bytes ? memory.bytes - offset : 0;
  spot.data = memory.data + offset;
  spot.at = argument.offset + offset;
  spot.grain = grain_;
  if (argument.region == nullptr) return spot;
  if (launch_.uninitialised) spot.unwritten = &argument.region->unwritten;
  if (argument.races && !ordered_) spot.cells = &argument.region->cells;
  return spot;
}

bool Checker::MeetsBlocksOf(const Checker& other) const {
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const Argument& own = arguments_[i];
    if (!own.races || own.region == nullptr) continue;
    const CellTable& others = other.arguments_[i].region->cells;
    const uint64_t end = (own.offset + memory_.arguments[i].bytes + grain_ - 1) / grain_;
    for (uint64_t cell = own.offset / grain_; cell < end;) {
      const uint32_t first = others.IndexOf(cell);
      const auto count =
          static_cast<uint32_t>(std::min<uint64_t>(end - cell, others.page_cells() - first));
      const CellPage *const a = own.region->cells.Find(cell), *const b = others.Find(cell);
      if (a != nullptr && b != nullptr && RowsMeet(*a, floor_, *b, other.floor_, first, count))
        return true;
      cell += count;
    }
  }
  return false;
}

// By RaceSearch alone, cell by cell: it is one block.
void Checker::NoteStrictly(const Warp& warp, const Addresses& a, bool writes, bool is_async) {
  if (strict_cells_ == nullptr || !is_clean_ || !IsShared(a.space)) return;
  const RaceSearch search(clocks_, clocks_.first(), warp.first_in_cluster / kLanes);
  const uint32_t grain = facts_.shared_grain;
  CellPage& page = strict_cells_->PageOf(0);
  for (uint32_t l = 0; l < kLanes; ++l) {
    const uint64_t size = block_->shared.size();
    if ((a.mask >> l & 1) == 0 || a.of[l] > size || a.bytes > size - a.of[l]) continue;
    const Stamp me = StampOf(warp, l, is_async);
    if (!writes) {
      is_clean_ &= maybe_unwritten_.Get(a.of[l], a.bytes) == 0;
    } else if (!MaySkip(block_->pc)) {
      maybe_unwritten_.Put(a.of[l], a.bytes, 0);
    }
    for (uint64_t at = a.of[l]; at < a.of[l] + a.bytes; at += grain) {
      const auto cell = static_cast<uint32_t>(at / grain);
      const Stamp before[] = {page.write.Get(cell), page.Reads().Get(cell),
                              page.OtherReads().Get(cell)};
      const auto found = writes ? search.Write(page, cell, me, true) : search.Read(page, cell, me);
      if (!found) continue;
      watched_[block_->pc] = true;
      for (const Stamp& stamp : before)
        if (stamp.interval >= clocks_.first()) watched_[stamp.pc()] = true;
    }
  }
}

void Checker::CheckOperand(Warp& warp, const Slot& slot, uint32_t mask, const char* what) {
  const RegisterPoison& poison = PoisonOf(warp);
  if (!poison.any()) return;
  const PoisonedLanes lanes = poison.Get(slot);
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((mask >> l & 1) == 0 || lanes[l] == 0) continue;
    return Report(FindingKind::kUninitialised, what, warp.first_in_cluster + l, nullptr);
  }
}

// Warps come to the two accesses in any order, so that the earlier one may be further down; unless
// there is a barrier between them, it is there that one is missing. Of one instruction that no
// branch goes back before it is nowhere.
std::pair<std::optional<BarrierGap>, std::string> Checker::MissingBarrier(uint32_t other,
                                                                          bool in_cluster) const {
  const uint32_t first = std::min(block_->pc, other), last = std::max(block_->pc, other);
  const std::vector<Instruction>& code = launch_.kernel->instructions;
  const std::string from = std::to_string(code[first].position.line),
                    to = std::to_string(code[last].position.line);
  // In a loop: up to the branch that goes back.
  uint32_t end = last + 1;
  const auto goes_back = [&](const Instruction& in) {
    return in.operation == Operation::kBranchIndexed ||
           (in.operation == Operation::kBra && in.target <= first);
  };
  while (end + 1 < code.size() && !goes_back(code[end])) ++end;
  if (first == last && (end == code.size() || !goes_back(code[end])))
    return {std::nullopt,
            ", and line " + to + " is in no loop: a barrier of all threads does not order them"};
  const BarrierGap behind{last, end};
  const std::string none = in_cluster ? ", with no barrier.cluster " : ", with no barrier ";
  if (from == to) return {behind, none + "between two executions of line " + to};
  const bool has_one = std::any_of(code.begin() + first, code.begin() + last, [&](const auto& in) {
    return in_cluster ? in.operation == Operation::kClusterWait : IsBarrier(in.operation);
  });
  if (!has_one) return {BarrierGap{first, last}, none + "between lines " + from + " and " + to};
  return {behind, none + "after line " + to + " before a loop reaches line " + from + " again"};
}

// A thread's wait makes its copies visible to others only with a barrier behind it.
std::string Checker::MissingBarrierBehindWait() const {
  const std::vector<Instruction>& code = launch_.kernel->instructions;
  const bool has_groups = !facts_.copy_groups.empty();
  for (uint32_t pc = block_->pc; has_groups && pc-- > 0 && !IsBarrier(code[pc].operation);) {
    const CopyGroup group = facts_.copy_groups[pc];
    if (group != CopyGroup::kWait && group != CopyGroup::kWaitAll) continue;
    return ", with no barrier between lines " + std::to_string(code[pc].position.line) +
           ", which waits for copies, and " + std::to_string(code[block_->pc].position.line);
  }
  return ", with no barrier between them";
}

void Checker::ReportRace(const Collision& found, bool writes, uint32_t thread, const Spot& spot) {
  std::string what = writes ? "writes what " : "reads what ";
  const bool in_cluster = RankOfThread(found.earlier.thread()) != RankOfThread(thread);
  what += found.other_block ? "a thread of another block "
          : in_cluster      ? "a thread of another block of its cluster "
                            : "a thread of another warp ";
  const bool copies = found.earlier.agent() >= kLanes;
  std::optional<BarrierGap> gap;
  std::string lacks;
  if (copies) {
    lacks = MissingBarrierBehindWait();
  } else {
    std::tie(gap, lacks) = MissingBarrier(found.earlier.pc(), in_cluster);
  }
  if (copies && !found.other_block && found.earlier.thread() / kLanes == thread / kLanes) {
    lacks = ", with no barrier between them";
    what = std::string(writes ? "writes" : "reads") + " what a copy without a wait ";
  }
  what += found.earlier_writes ? "wrote" : "read";
  what += found.other_block ? ", and blocks have no order" : lacks;
  if (found.other_block) gap.reset();
  Report(FindingKind::kRace, std::move(what), thread, &spot, found.earlier, gap);
}

void Checker::Report(FindingKind kind, std::string what, uint32_t thread, const Spot* spot,
                     std::optional<Stamp> other, std::optional<BarrierGap> gap) {
  const std::array<uint64_t, 4> key{static_cast<uint64_t>(kind), block_->pc,
                                    other ? other->pc() : ~uint64_t{0},
                                    spot != nullptr ? spot->window : 0};
  if (found_.size() >= kMaxFindings && !found_.contains(key)) return;
  const auto [at, is_new] = found_.try_emplace(key, findings_.size());
  if (!is_new) {
    ++findings_[at->second].count;
    return;
  }
  if (launch_.found != nullptr) launch_.found->request_stop();
  Finding& finding = findings_.emplace_back();
  finding.kind = kind;
  finding.what = std::move(what);
  finding.kernel = launch_.kernel->name;
  finding.gap = gap;
  finding.at = SideOf(block_->pc, thread, block_starts_.back().second);
  if (other) finding.other = SideOf(other->pc(), other->thread(), BlockOf(other->interval));
  if (spot == nullptr) return;
  finding.byte = spot->offset;
  if (spot->window == kSharedWindow) {
    finding.memory = "shared memory";
  } else if (spot->window == kLocalWindow) {
    finding.memory = "local memory";
  } else {
    finding.argument = static_cast<uint32_t>(spot->window - kFirstArgumentWindow);
    finding.memory = "argument " + std::to_string(*finding.argument);
  }
}

// `block` is the first of its cluster, whose threads are counted through.
FindingSide Checker::SideOf(uint32_t pc, uint32_t thread, uint64_t block) const {
  const uint32_t threads = static_cast<uint32_t>(block_->warps.size()) * kLanes;
  const Kernel& kernel = *launch_.kernel;
  const Instruction& in = kernel.instructions[pc];
  return {{launch_.file, in.position.line, in.position.column},
          kernel.forms[pc],
          BlockOfRank(block, thread / threads),
          Unflattened(thread % threads, launch_.block),
          pc};
}

uint64_t Checker::BlockOf(uint32_t interval) const {
  const auto after =
      std::ranges::upper_bound(block_starts_, interval, {}, &std::pair<uint32_t, uint64_t>::first);
  return after == block_starts_.begin() ? block_starts_.back().second : std::prev(after)->second;
}

uint32_t Checker::RankOfThread(uint32_t thread) const {
  return thread / kLanes / static_cast<uint32_t>(block_->warps.size());
}

std::array<uint32_t, 3> Checker::BlockOfRank(uint64_t first, uint32_t rank) const {
  auto block = Unflattened(first, launch_.grid);
  const auto inside = Unflattened(rank, launch_.cluster);
  for (size_t i = 0; i < 3; ++i) block[i] += inside[i];
  return block;
}

}  // namespace hloscope::ptx
