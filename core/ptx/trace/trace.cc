// The recorder: an observer of one block.
#include "core/ptx/trace/trace.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "core/ptx/machine/lanes.h"
#include "core/ptx/machine/observer.h"
#include "core/ptx/module.h"
#include "core/ptx/trace/instruction_texts.h"
#include "core/ptx/trace/shuffle.h"

namespace hloscope::ptx {
namespace {

constexpr uint32_t kNoRegister = 0xffffffffu;
constexpr size_t kMaxReaders = 16;

uint64_t HeldBytes(const Block& block, uint64_t window) {
  const LaunchMemory& memory = *block.memory;
  if (window == kSharedWindow) return block.shared.size();
  if (window == kLocalWindow) return block.local_bytes;
  if (window == kParamWindow) return memory.parameters.bytes;
  if (window >= kFirstVariableWindow) return memory.variables[window - kFirstVariableWindow].bytes;
  return memory.arguments[window - kFirstArgumentWindow].bytes;
}

class Recorder : public Observer {
 public:
  Recorder(const Kernel& kernel, const TraceRequest& request, BlockTrace& trace)
      : kernel_(kernel), request_(request), trace_(trace) {
    std::map<uint32_t, uint32_t> ids;
    const auto id_of = [&](uint32_t offset) {
      if ((offset & Slot::kConstant) != 0) return kNoRegister;
      return ids.try_emplace(offset, static_cast<uint32_t>(ids.size())).first->second;
    };
    for (const Slot& slot : kernel.slots) slot_ids_.push_back(id_of(slot.offset));
    for (const Instruction& in : kernel.instructions) guard_ids_.push_back(id_of(in.guard));
    for (const uint32_t thread : request.threads) {
      ThreadTrace& made = trace.threads.emplace_back();
      made.thread = thread;
      made.first = request.first;
      threads_.emplace(thread, State{std::vector<int64_t>(ids.size(), -1), {}});
    }
  }

  void Starts(Block& block, uint64_t) override {
    shared_.assign(block.shared.size(), {});
    readers_.assign(request_.skipped ? block.shared.size() / 4 + 1 : 0, {});
    counts_.assign(block.warps.size() * kLanes, 0);
    stores_.assign(kernel_.instructions.size(), {});
    for (auto& [thread, state] : threads_) state.local.assign(block.local_bytes, -1);
  }

  void Before(Warp& warp, const Instruction& in, const Slot* slots, uint32_t mask) override {
    pending_.clear();
    BeginSteps(warp, in, slots, mask, false);
  }

  void Skips(Warp& warp, const Instruction& in, const Slot* slots, uint32_t mask) override {
    if (request_.skipped) BeginSteps(warp, in, slots, mask, true);
  }

  void Accesses(Warp& warp, uint32_t lane, const MemoryAccess& access) override {
    const uint32_t thread = warp.first_thread + lane;
    Noted noted{lane, access, {}, {}, {}, {}, {}};
    const auto state = threads_.find(thread);
    if (access.window == kSharedWindow && access.owner != warp.block) {
      // Of another block of the cluster, which is not traced.
    } else if (access.window == kSharedWindow) {
      noted.from = shared_[access.offset].step;
      noted.writer = shared_[access.offset];
      const uint64_t behind = access.offset + access.bytes;
      if (access.offset > 0) noted.beside[0] = shared_[access.offset - 1];
      if (behind < shared_.size()) noted.beside[1] = shared_[behind];
      if (request_.skipped) noted.readers = NoteReader(access, UseBy(warp, thread));
      if (request_.skipped && access.writes) stores_[warp.block->pc] = UseBy(warp, thread);
      for (uint64_t i = 0; access.writes && i < access.bytes; ++i)
        shared_[access.offset + i] = UseBy(warp, thread);
    } else if (access.window == kLocalWindow && state != threads_.end()) {
      const int64_t step = state->second.local[access.offset];
      if (step >= 0) noted.from = {static_cast<int32_t>(thread), step};
      for (uint64_t i = 0; access.writes && i < access.bytes; ++i)
        state->second.local[access.offset + i] = counts_[thread] - 1;
    }
    if (!HasTraced(warp)) return;
    const uint64_t held = HeldBytes(*warp.block, access.window);
    const uint64_t there = access.offset >= held ? 0 : held - access.offset;
    const auto bytes = std::min<uint64_t>(access.bytes, there);
    if (bytes > 0) noted.bytes.assign(access.value, access.value + bytes);
    pending_.push_back(std::move(noted));
  }

  void After(Warp& warp, const Instruction& in, const Slot* slots, uint32_t mask) override {
    ForTraced(warp, mask, [&](ThreadTrace& trace, State& state, uint32_t lane) {
      const int64_t number = counts_[trace.thread] - 1;
      TracedStep* const step = trace.Has(number) ? &trace.steps.back() : nullptr;
      for (uint32_t s = 0; s < in.slot_count; ++s) {
        if (!slots[s].written || !slots[s].present()) continue;
        state.writers[slot_ids_[in.first_slot + s]] = number;
        if (step == nullptr) continue;
        TracedValue& value = trace.values[step->first_value + s];
        value.bits = Bits(warp, slots[s], lane);
      }
      if (step == nullptr) return;
      if (in.operation == Operation::kShfl) NoteShuffle(warp, in, slots, lane, trace, *step);
      TakeAccesses(in, lane, trace, *step);
    });
  }

  std::vector<SharedUse> SharedStores() const {
    std::vector<SharedUse> stores;
    std::ranges::copy_if(stores_, std::back_inserter(stores),
                         [](const SharedUse& use) { return use.turn > 0; });
    return stores;
  }

 private:
  struct State {
    std::vector<int64_t> writers;  // the last step that wrote each register
    std::vector<int64_t> local;    // that wrote each byte
  };
  struct Noted {
    uint32_t lane;
    MemoryAccess access;
    StepRef from;
    SharedUse writer, beside[2];
    std::vector<SharedUse> readers;
    std::vector<std::byte> bytes;
  };

  static uint64_t Bits(const Warp& warp, const Slot& slot, uint32_t lane) {
    if (slot.bytes != 0) return ReadLane(warp, slot, lane);
    uint32_t mask;
    std::memcpy(&mask, SourceOf(warp, slot), 4);
    return mask >> lane & 1;
  }

  static StepRef Writer(const State& state, uint32_t id, uint32_t thread) {
    if (id == kNoRegister || state.writers[id] < 0) return {};
    return {static_cast<int32_t>(thread), state.writers[id]};
  }

  bool HasTraced(const Warp& warp) const {
    const auto next = threads_.lower_bound(warp.first_thread);
    return next != threads_.end() && next->first < warp.first_thread + kLanes;
  }

  template <typename F>
  void ForTraced(Warp& warp, uint32_t mask, F f) {
    for (auto it = threads_.lower_bound(warp.first_thread);
         it != threads_.end() && it->first < warp.first_thread + kLanes; ++it) {
      const uint32_t lane = it->first - warp.first_thread;
      if ((mask >> lane & 1) == 0) continue;
      const auto trace = std::ranges::find(trace_.threads, it->first, &ThreadTrace::thread);
      block_pc_ = warp.block->pc;
      f(*trace, it->second, lane);
    }
  }

  SharedUse UseBy(const Warp& warp, uint32_t thread) const {
    return {{static_cast<int32_t>(thread), counts_[thread] - 1}, warp.block->pc, turn_};
  }

  // Those of its word before this access.
  std::vector<SharedUse> NoteReader(const MemoryAccess& access, const SharedUse& by) {
    std::vector<SharedUse> before;
    for (uint64_t word = access.offset / 4; word * 4 < access.offset + access.bytes; ++word) {
      std::vector<SharedUse>& readers = readers_[word];
      if (access.writes) {
        readers.clear();
        continue;
      }
      if (word == access.offset / 4) before = readers;
      if (readers.size() == kMaxReaders) readers.erase(readers.begin());
      readers.push_back(by);
    }
    return before;
  }

  void BeginSteps(Warp& warp, const Instruction& in, const Slot* slots, uint32_t mask,
                  bool skipped) {
    ++turn_;
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      counts_[warp.first_thread + lane] += mask >> lane & 1;
    }
    ForTraced(warp, mask, [&](ThreadTrace& trace, State& state, uint32_t lane) {
      trace.executed = counts_[trace.thread];
      if (!Begin(trace, skipped)) return;
      for (uint32_t s = 0; s < in.slot_count; ++s) {
        TracedValue value;
        if (!slots[s].written && slots[s].present()) {
          value.bits = Bits(warp, slots[s], lane);
          value.from = Writer(state, slot_ids_[in.first_slot + s], trace.thread);
        }
        trace.values.push_back(value);
      }
      if (in.guard == Slot::kAbsent) return;
      trace.values.push_back({Bits(warp, {in.guard, 0, false, false}, lane),
                              Writer(state, guard_ids_[warp.block->pc], trace.thread)});
    });
  }

  // Begins the record of a step, where it is wanted and there is room.
  bool Begin(ThreadTrace& trace, bool skipped) {
    const int64_t number = counts_[trace.thread] - 1;
    const bool wanted = number >= request_.first && recorded_ < request_.most &&
                        number == request_.first + static_cast<int64_t>(trace.steps.size());
    if (!wanted) return false;
    ++recorded_;
    trace.steps.push_back({block_pc_, static_cast<uint32_t>(trace.values.size()),
                           static_cast<uint32_t>(trace.accesses.size()), 0, turn_, skipped});
    return true;
  }

  void NoteShuffle(const Warp& warp, const Instruction& in, const Slot* slots, uint32_t lane,
                   ThreadTrace& trace, const TracedStep& step) {
    const ShuffledLane from = ShuffledFrom(ModifierShuffle(in), lane,
                                           static_cast<uint32_t>(ReadLane(warp, slots[3], lane)),
                                           static_cast<uint32_t>(ReadLane(warp, slots[4], lane)));
    const uint32_t peer = warp.first_thread + from.lane;
    StepRef& origin = trace.values[step.first_value].from;
    origin.thread = static_cast<int32_t>(peer);
    const auto state = threads_.find(peer);
    // The peer may have written over that register by this shuffle itself: its own record knows.
    if (state != threads_.end()) origin.step = counts_[peer] - 1;
  }

  // Of ldmatrix a lane gets what the addresses of other lanes name.
  static bool Supplies(const Instruction& in, uint32_t supplier, uint32_t lane) {
    if (in.operation != Operation::kLdmatrix) return supplier == lane;
    const uint32_t row = supplier % 8;
    if (supplier / 8 >= in.slot_count - 1) return false;
    return ModifierTrans(in) == Trans::kOn ? row / 2 == lane % 4 : row == lane / 4;
  }

  void TakeAccesses(const Instruction& in, uint32_t lane, ThreadTrace& trace, TracedStep& step) {
    for (const Noted& noted : pending_) {
      if (!Supplies(in, noted.lane, lane)) continue;
      TracedAccess access;
      access.offset = noted.access.offset;
      access.bytes = noted.access.bytes;
      access.writes = noted.access.writes;
      access.from = access.writes ? StepRef{} : noted.from;
      if (!access.writes) {
        access.writer = noted.writer;
        std::ranges::copy(noted.beside, access.beside);
        access.readers = noted.readers;
      }
      const uint64_t window = noted.access.window;
      if (window >= kFirstVariableWindow) {
        access.space = TracedSpace::kVariable;
        access.number = static_cast<uint32_t>(window - kFirstVariableWindow);
      } else if (window >= kFirstArgumentWindow) {
        access.space = TracedSpace::kArgument;
        access.number = static_cast<uint32_t>(window - kFirstArgumentWindow);
      } else {
        access.space = window == kSharedWindow  ? TracedSpace::kShared
                       : window == kLocalWindow ? TracedSpace::kLocal
                                                : TracedSpace::kParameters;
      }
      access.first_byte = static_cast<uint32_t>(trace.bytes.size());
      access.held = static_cast<uint32_t>(noted.bytes.size());
      trace.bytes.insert(trace.bytes.end(), noted.bytes.begin(), noted.bytes.end());
      trace.accesses.push_back(access);
      ++step.accesses;
    }
  }

  const Kernel& kernel_;
  const TraceRequest& request_;
  BlockTrace& trace_;
  std::vector<uint32_t> slot_ids_, guard_ids_;
  std::map<uint32_t, State> threads_;
  std::vector<int64_t> counts_;                  // steps begun, by thread
  std::vector<SharedUse> shared_;                // who wrote each byte
  std::vector<std::vector<SharedUse>> readers_;  // of each word, behind its last write
  std::vector<SharedUse> stores_;                // the last of each instruction
  std::vector<Noted> pending_;                   // accesses of the instruction in execution
  uint32_t block_pc_ = 0;
  int64_t recorded_ = 0;
  uint64_t turn_ = 0;
};

std::string Triple(const std::array<uint32_t, 3>& v) {
  return std::to_string(v[0]) + "×" + std::to_string(v[1]) + "×" + std::to_string(v[2]);
}

Status CheckRequest(const LaunchRequest& launch, const TraceRequest& request) {
  const uint64_t threads = uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  for (const uint32_t thread : request.threads) {
    if (thread < threads) continue;
    return InputError(
        "kernel " + launch.entry + " has no thread " + std::to_string(thread) + " in a block",
        "its blocks have " + std::to_string(threads) + " threads (" + Triple(launch.block) +
            "), counted from 0");
  }
  for (int i = 0; i < 3; ++i) {
    if (request.block[i] < launch.grid[i]) continue;
    return InputError("kernel " + launch.entry + " has no such block",
                      "its grid has " + Triple(launch.grid) + " blocks, counted from 0");
  }
  return {};
}

}  // namespace

const ThreadTrace* BlockTrace::Find(int32_t thread) const {
  for (const ThreadTrace& trace : threads) {
    if (static_cast<int32_t>(trace.thread) == thread) return &trace;
  }
  return nullptr;
}

Result<BlockTrace> Trace(const Module& module, const LaunchRequest& launch,
                         const TraceRequest& request, LaunchOptions options) {
  HLOSCOPE_TRY(CheckRequest(launch, request));
  const Module::Contents& contents = module.contents();
  HLOSCOPE_ASSIGN_OR_RETURN(const Kernel* const kernel, KernelOf(module, launch.entry));
  BlockTrace trace;
  trace.kernel = launch.entry;
  trace.file = contents.program.syntax.file;
  trace.block = request.block;
  trace.instructions = InstructionTexts(contents.program, *kernel);
  Recorder recorder(*kernel, request, trace);
  options.only_block = request.block;
  options.observer = &recorder;
  HLOSCOPE_ASSIGN_OR_RETURN(LaunchResult result, Launch(module, launch, options));
  trace.fault = std::move(result.fault);
  trace.shared_stores = recorder.SharedStores();
  return trace;
}

}  // namespace hloscope::ptx
