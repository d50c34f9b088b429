// Checker: watches the blocks of a launch for races, and for what nobody wrote.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "core/ptx/checks/causes.h"
#include "core/ptx/checks/cell_lanes.h"
#include "core/ptx/checks/clocks.h"
#include "core/ptx/checks/findings.h"
#include "core/ptx/checks/race_search.h"
#include "core/ptx/checks/register_poison.h"
#include "core/ptx/checks/shadow_memory.h"
#include "core/ptx/machine/observer.h"
#include "core/ptx/machine/steps.h"

namespace hloscope::ptx {

struct CheckedLaunch {
  const Kernel* kernel = nullptr;
  std::string file;  // of the PTX
  std::array<uint32_t, 3> grid{}, block{}, cluster{1, 1, 1};
  bool race = false, uninitialised = false;
  std::stop_source* found = nullptr;  // is asked to stop at the first finding
};

// Of the blocks of one launch, one after the other, on one thread. Looks at each instruction before
// it is executed, and works its accesses out from its operands; those of instructions that it does
// not know come as Accesses.
//
// Bytes that nobody wrote are poison, and so is what is computed of them. It is reported where it
// decides something: stored to an argument, as an address, as the condition of a branch or a store.
// What is read and then thrown away is no concern, as XLA reads beyond the end of arrays.
class Checker final : public Observer {
 public:
  // `shadow` knows the memory of the arguments, or it counts as written and is no part of it.
  Checker(CheckedLaunch launch, const LaunchMemory& memory, ShadowMemory& shadow);

  bool WantsAccesses() const override { return wants_accesses_; }
  void Starts(Block& block, uint64_t index) override;
  void Before(Warp& warp, const Instruction& in, const Slot* slots, uint32_t mask) override;
  void After(Warp& warp, const Instruction& in, const Slot* slots, uint32_t mask) override;
  void Skips(Warp& warp, const Instruction& in, const Slot* slots, uint32_t mask) override;
  void Accesses(Warp& warp, uint32_t lane, const MemoryAccess& access) override;
  void TileChunk(Warp& warp, const TileChunkPlace& place) override;
  void TensorCells(Warp& warp, const TensorCellsUse& use) override;
  void BarrierOpens(Block& block, uint32_t barrier) override;
  void PhaseEnds(Block& block, uint64_t address) override;

  // In the order in which they were found.
  std::vector<Finding> Take() { return GroupedByCause(std::move(findings_), *launch_.kernel); }
  bool found_any() const { return !findings_.empty(); }
  // Whether a block of one accessed memory of an argument that a block of the other wrote: both
  // check the same launch.
  bool MeetsBlocksOf(const Checker& other) const;

 private:
  // An argument as checks see it.
  struct Argument {
    ShadowMemory::Region* region = nullptr;
    uint64_t offset = 0;       // in the region
    bool all_written = false;  // when the launch began
    bool races = false;        // the kernel may write to it
  };
  // Where one lane's access goes; null sets are not looked at.
  struct Spot {
    bool inside = false;  // else the access faults
    uint64_t window = 0, offset = 0;
    ByteSet* unwritten = nullptr;
    CellTable* cells = nullptr;
    uint64_t at = 0;    // in both
    uint64_t held = 0;  // bytes from there to the end; behind it is padding
    const std::byte* data = nullptr;
    uint32_t grain = 1;
  };
  // One access of all lanes of an instruction.
  struct Addresses {
    StateSpace space = StateSpace::kNone;
    uint32_t mask = 0;
    uint32_t bytes = 0;  // of each lane
    uint64_t of[kLanes];
  };

  static constexpr uint32_t kMaxBytes = 32;  // of a lane, where all are looked at together

  // Where all lanes of an access go, inside one memory and at multiples of their size.
  struct Area {
    Spot spot;            // where the memory begins
    uint64_t at[kLanes];  // in its sets; of lanes that do not take part, that of one that does
    bool is_row = false;  // all lanes, one behind the other without gaps
    Spot SpotOf(uint32_t lane, uint32_t cell) const;
  };
  struct Cells {
    CellAccess access;
    CellPage* all = nullptr;   // of shared memory: all lanes' cells are on it
    CellPage* row = nullptr;   // of an argument, where all of a row are on it
    uint64_t numbers[kLanes];  // of an argument: which cells
  };
  // False: the lanes have to be looked at one by one.
  bool FindArea(const Warp& warp, const Addresses& addresses, Area& area);
  // A read of all lanes where nothing is to be found; else false, and they have to be looked at one
  // by one.
  bool CheckReadOfAll(const Warp& warp, const Addresses& addresses);
  // The same of a write of what is known to be written: `values` lane by lane. Null: a copy that
  // goes on beside the warp.
  bool CheckWriteOfAll(const Warp& warp, const Addresses& addresses, const std::byte* values);
  bool FindCells(const Warp& warp, const Addresses& addresses, const Area& area, Cells& cells);
  bool CheckWrittenCells(const Warp& warp, const Addresses& addresses, const Area& area,
                         const std::byte* values);
  RaceSearch SearchIn(const Spot& spot, const Warp& warp) const;
  Stamp StampOf(const Warp& warp, uint32_t lane, bool is_async) const;
  Addresses AddressesOf(const Warp& warp, const Instruction& in, StateSpace space, Slot slot,
                        uint32_t which, uint32_t bytes, uint32_t mask) const;
  Spot SpotOf(const Warp& warp, StateSpace space, uint64_t address, uint32_t lane);
  Spot SpotIn(const Warp& warp, uint64_t window, uint64_t offset, uint32_t lane);
  // SpotOf, where `spot` is that of another address of the same access.
  void Move(Spot& spot, const Warp& warp, StateSpace space, uint64_t address, uint32_t lane);

  void Load(Warp& warp, const Instruction& in, const Slot* slots, uint32_t mask);
  void Store(Warp& warp, const Instruction& in, const Slot* slots, uint32_t mask);
  void Atomic(Warp& warp, const Instruction& in, const Slot* slots, uint32_t mask);
  void Copy(Warp& warp, const Instruction& in, const Slot* slots, uint32_t mask);
  void LoadMatrices(Warp& warp, const Instruction& in, const Slot* slots, uint32_t mask);
  void StoreMatrices(Warp& warp, const Instruction& in, const Slot* slots, uint32_t mask);
  // mbarriers and the copies that arrive at them.
  void Arrive(const Warp& warp, const Instruction& in, const Slot& slot, uint32_t which,
              uint32_t mask, bool copies, const Slot* targets = nullptr);
  void Synchronise(Warp& warp, const Instruction& in, const Slot* slots, uint32_t mask);
  void Control(Warp& warp, const Instruction& in, const Slot* slots, uint32_t mask);
  void CheckAligned(const Warp& warp, const Group& group, uint32_t waiting);
  void NoteWork(const Warp& warp, const Instruction& in, uint32_t mask);

  // Products of tensor cores out of shared and tensor memory.
  void StartProduct();
  void NoteTileRead(const Spot& spot, uint32_t bytes);
  void FollowWarpGroup(Warp& warp, const Instruction& in, const Slot* slots);
  void StartTensorAccess(const Instruction& in, const Slot* slots);
  void FinishTensorLoad(Warp& warp, const Instruction& in, const Slot* slots);

  // Whether all lanes read only written bytes of memory that nobody races for.
  bool IsPlain(const Addresses& addresses) const;
  void CheckRead(const Warp& warp, uint32_t lane, const Spot& spot, uint32_t bytes);
  void CheckWrite(const Warp& warp, uint32_t lane, const Spot& spot, const std::byte* values,
                  uint32_t bytes, bool is_async);
  // The bytes of a read that nobody wrote.
  uint64_t PoisonOf(const Spot& spot, uint32_t bytes);
  // What a poisoned value may be computed from, by what the block has met.
  std::string PoisonSource() const;
  void Poison(const Warp& warp, uint32_t lane, const Spot& spot, uint32_t bytes, uint64_t poison);
  void CheckOperand(Warp& warp, const Slot& slot, uint32_t mask, const char* what);

  // Shared memory of blocks that go the same way: what the first of them shows holds for all.
  void NoteStrictly(const Warp& warp, const Addresses& addresses, bool writes, bool is_async);
  // The store at `pc`, which lanes do not make that another block's may.
  void NoteSkipped(const Warp& warp, uint32_t pc, uint32_t mask);
  bool MaySkip(uint32_t pc) const {
    return !facts_.paths.may_skip.empty() && facts_.paths.may_skip[pc];
  }
  void NotePoisonedRead(StateSpace space) { is_clean_ &= !IsShared(space); }
  // Whether shared memory needs no look: no poison is in it, and none goes in.
  bool Repeats(const Warp& warp) const {
    return repeats_ && !watched_[block_->pc] && !shared_poisoned_ &&
           !(launch_.uninitialised && poison_[warp.first_in_cluster / kLanes].any());
  }

  RegisterPoison& PoisonOf(const Warp& warp) { return poison_[warp.first_in_cluster / kLanes]; }
  void Report(FindingKind kind, std::string what, uint32_t thread, const Spot* spot,
              std::optional<Stamp> other = {}, std::optional<BarrierGap> gap = {});
  // Where a barrier is missing between this instruction and `other`, in words too.
  std::pair<std::optional<BarrierGap>, std::string> MissingBarrier(uint32_t other,
                                                                   bool in_cluster) const;
  std::string MissingBarrierBehindWait() const;
  void ReportRace(const Collision& found, bool writes, uint32_t thread, const Spot& spot);
  FindingSide SideOf(uint32_t pc, uint32_t thread, uint64_t block) const;
  uint64_t BlockOf(uint32_t interval) const;
  uint32_t RankOfThread(uint32_t thread) const;
  std::array<uint32_t, 3> BlockOfRank(uint64_t first, uint32_t rank) const;

  CheckedLaunch launch_;
  const LaunchMemory& memory_;
  ShadowMemory& shadow_;
  const KernelFacts& facts_;
  std::vector<Argument> arguments_;
  bool wants_accesses_ = false;
  uint64_t blocks_ = 1;
  uint32_t floor_ = 0;  // interval of the launch
  uint32_t grain_ = 1;  // of arguments: bytes of a cell

  Block* block_ = nullptr;
  static constexpr uint64_t kSharedStep = 1024;
  uint64_t shared_bytes_ = 0;  // of each block of a cluster, in multiples of that
  bool ordered_ = false;       // the block has watched what others write
  std::vector<std::pair<uint32_t, uint64_t>> block_starts_;  // first interval, first block
  Clocks clocks_;
  CellTable shared_cells_;  // one page
  const CellSteps& cell_steps_ = VectorUnits().back().cell_steps();
  ByteSet shared_unwritten_, local_unwritten_;
  // Of the first block, where all go the same way: races as if every store were made and changed
  // what is there, so that other values make no difference. Null: not looked at.
  std::unique_ptr<CellTable> strict_cells_;
  ByteSet maybe_unwritten_;    // what no store has written that all blocks make
  std::vector<bool> watched_;  // by instruction: it had one, which is none where the values agree
  // By warp: lanes that were elsewhere when others came to a barrier; what of them did something
  // since.
  std::array<uint32_t, kLanes> absent_{}, worked_{};
  bool read_unwritten_ = false, took_from_others_ = false;  // of the block: memory, lanes
  bool is_clean_ = false;               // it read only what was written, and nothing was found
  bool repeats_ = false;                // this block does what the first did, which was clean
  bool shared_poisoned_ = false;        // of this block
  std::vector<RegisterPoison> poison_;  // by warp
  // Of the product in execution: rows of A and columns of B that nobody wrote all of; the chunk
  // that is read next; what tcgen05.ld has got.
  static constexpr size_t kTileRows = 128, kTileColumns = 256, kTensorCells = 128 * 512;
  std::vector<bool> tile_rows_, tile_columns_;
  bool tile_spoiled_ = false, any_loaded_ = false;
  TileChunkPlace chunk_;
  const Slot* product_slots_ = nullptr;
  std::vector<PoisonedLanes> loaded_cells_;
  ByteSet tensor_unwritten_;  // a bit for each cell; of the block
  // Of the instruction in execution: its accesses are known and those told are not wanted, or they
  // are those of a copy that goes on beside the warp.
  bool known_ = false, is_async_ = false;

  std::vector<Finding> findings_;
  std::map<std::array<uint64_t, 4>, size_t> found_;
};

}  // namespace hloscope::ptx
