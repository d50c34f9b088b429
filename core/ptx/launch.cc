// A launch: arguments become windows, blocks are shared out over threads, counts and faults come
// back.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <mutex>

#include "core/base/checked.h"
#include "core/base/jobs.h"
#include "core/ptx/machine/matrix_form.h"
#include "core/ptx/machine/observer.h"
#include "core/ptx/machine/run.h"
#include "core/ptx/machine/step_changer.h"
#include "core/ptx/module.h"

namespace hloscope::ptx {
namespace {

constexpr uint64_t kPadding = 256;
constexpr uint64_t kNoBlock = std::numeric_limits<uint64_t>::max();

uint64_t RoundUp(uint64_t value, uint64_t align) { return (value + align - 1) / align * align; }

// The memory of one block in flight; used again for the next.
struct Context {
  std::vector<std::byte> registers, shared, local;
  Block block;
  Executions executions;
  uint64_t padding_reads = 0;
};

std::array<uint32_t, 3> Unflattened(uint64_t index, const std::array<uint32_t, 3>& sizes) {
  return {static_cast<uint32_t>(index % sizes[0]),
          static_cast<uint32_t>(index / sizes[0] % sizes[1]),
          static_cast<uint32_t>(index / sizes[0] / sizes[1])};
}

uint32_t SpecialValue(Special special, uint32_t thread, const std::array<uint32_t, 3>& block,
                      const LaunchRequest& request) {
  const auto at = Unflattened(thread, request.block);
  const uint32_t lane = thread % kLanes;
  switch (special) {
    case Special::kTidX:
      return at[0];
    case Special::kTidY:
      return at[1];
    case Special::kTidZ:
      return at[2];
    case Special::kNtidX:
      return request.block[0];
    case Special::kNtidY:
      return request.block[1];
    case Special::kNtidZ:
      return request.block[2];
    case Special::kCtaidX:
      return block[0];
    case Special::kCtaidY:
      return block[1];
    case Special::kCtaidZ:
      return block[2];
    case Special::kNctaidX:
      return request.grid[0];
    case Special::kNctaidY:
      return request.grid[1];
    case Special::kNctaidZ:
      return request.grid[2];
    case Special::kLaneid:
      return lane;
    case Special::kWarpid:
      return thread / kLanes;
    case Special::kLanemaskEq:
      return 1u << lane;
    case Special::kLanemaskLt:
      return (1u << lane) - 1;
    case Special::kLanemaskLe:
      return (2u << lane) - 1;
    case Special::kLanemaskGt:
      return ~((2u << lane) - 1);
    case Special::kLanemaskGe:
      return ~((1u << lane) - 1);
  }
  return 0;
}

}  // namespace

class Launcher {
 public:
  Launcher(const Module& module, const LaunchRequest& request, const LaunchOptions& options)
      : contents_(module.contents()), request_(request), options_(options) {}

  Result<LaunchResult> Run() {
    HLOSCOPE_TRY(FindEntry());
    HLOSCOPE_TRY(CheckShape());
    HLOSCOPE_TRY(CheckTarget());
    HLOSCOPE_TRY(MakeArguments());
    MakeVariables();
    HLOSCOPE_TRY(CheckMemory());
    ChangeSteps();
    HLOSCOPE_TRY(RunBlocks());
    return Finish();
  }

 private:
  std::string Name() const { return "kernel " + request_.entry; }

  Status FindEntry() {
    for (const Executable& executable : contents_.executables) {
      if (executable.kernel->name == request_.entry) executable_ = &executable;
    }
    if (executable_ == nullptr) {
      return InputError("no entry `" + request_.entry + "` in " + contents_.program.syntax.file,
                        "see the entries of the module");
    }
    kernel_ = executable_->kernel;
    const auto& unsupported =
        contents_.entries[static_cast<size_t>(executable_ - contents_.executables.data())]
            .unsupported;
    if (!unsupported.empty()) return std::unexpected(unsupported.front());
    return {};
  }

  Status CheckShape() {
    blocks_ = 1;
    threads_ = 1;
    for (int i = 0; i < 3; ++i) {
      if (request_.grid[i] == 0 || request_.block[i] == 0) {
        return InputError(Name() + ": a grid or block with a size of 0", "sizes start at 1");
      }
      const auto blocks = CheckedMul<uint64_t>(blocks_, request_.grid[i]);
      const auto threads = CheckedMul<uint64_t>(threads_, request_.block[i]);
      if (!blocks.has_value() || !threads.has_value() || *threads > 1024) {
        return InputError(Name() + ": more than 1024 threads in a block, or blocks beyond 64 bits",
                          "no GPU runs it");
      }
      blocks_ = *blocks;
      threads_ = *threads;
      const uint32_t required = kernel_->required_threads[i];
      if (required != 0 && required != request_.block[i]) {
        return InputError(Name() + ": launched with other threads than its .reqntid",
                          "pass those of .reqntid");
      }
    }
    if (!options_.only_block.has_value()) return {};
    for (int i = 0; i < 3; ++i) {
      if ((*options_.only_block)[i] >= request_.grid[i])
        return InputError(Name() + ": the block asked for is outside of the grid");
    }
    return {};
  }

  Status CheckTarget() {
    target_ = request_.target;
    const std::string& text = contents_.target;
    if (target_ == 0 && text.starts_with("sm_")) {
      for (const char c : text.substr(3, 4)) {
        if (c >= '0' && c <= '9') target_ = target_ * 10 + static_cast<uint32_t>(c - '0');
      }
    }
    for (const Instruction& instruction : kernel_->instructions) {
      if (ClassOf(instruction.operation) != InstructionClass::kTensor) continue;
      if (Status status = CheckMma(MmaFormOf(instruction, target_)); !status.has_value()) {
        status.error().place = {contents_.program.syntax.file, instruction.position.line,
                                instruction.position.column};
        return status;
      }
    }
    return {};
  }

  Status MakeArguments() {
    const auto& parameters = kernel_->parameters;
    if (request_.arguments.size() != parameters.size()) {
      return InputError(Name() + " takes " + std::to_string(parameters.size()) +
                        " arguments, given " + std::to_string(request_.arguments.size()));
    }
    parameter_bytes_.resize(RoundUp(kernel_->parameter_bytes, 16));
    for (size_t i = 0; i < parameters.size(); ++i) {
      const Argument& argument = request_.arguments[i];
      std::byte* to = parameter_bytes_.data() + parameters[i].offset;
      const uint64_t size = argument.memory.size();
      memory_.arguments.push_back({argument.memory.data(), size, RoundUp(size, kPadding), true});
      if (argument.value.has_value()) {
        if (argument.value->size() != parameters[i].bytes) {
          return InputError(Name() + ": argument " + std::to_string(i) + " has " +
                            std::to_string(argument.value->size()) + " bytes, its parameter " +
                            std::to_string(parameters[i].bytes));
        }
        std::copy(argument.value->begin(), argument.value->end(), to);
        continue;
      }
      if (parameters[i].bytes != 8) {
        return InputError(
            Name() + ": argument " + std::to_string(i) + " is memory, its parameter no pointer",
            "pass a value of " + std::to_string(parameters[i].bytes) + " bytes");
      }
      if (size >= uint64_t{1} << kWindowShift)
        return InputError(Name() + ": an argument of 64 GiB or more", "split it");
      const uint64_t address = (kFirstArgumentWindow + i) << kWindowShift;
      std::memcpy(to, &address, 8);
    }
    memory_.parameters = {parameter_bytes_.data(), kernel_->parameter_bytes,
                          kernel_->parameter_bytes, false};
    return {};
  }

  // Variables of the module start with their initial values in every launch.
  void MakeVariables() {
    const auto& variables = contents_.program.syntax.variables;
    variable_bytes_.resize(variables.size());
    for (size_t i = 0; i < variables.size(); ++i) {
      const Variable& variable = variables[i];
      const bool is_shared = variable.space == Space::kShared;
      std::vector<std::byte>& bytes = variable_bytes_[i];
      if (!is_shared) bytes.resize(variable.bytes);
      if (!variable.initial.empty() && !is_shared)
        std::memcpy(bytes.data(), variable.initial.data(), variable.initial.size());
      memory_.variables.push_back(
          {bytes.data(), bytes.size(), bytes.size(), variable.space == Space::kGlobal});
    }
  }

  Status CheckMemory() {
    const auto shared = CheckedAdd(kernel_->static_shared_bytes, request_.dynamic_shared_bytes);
    if (!shared.has_value() || *shared > options_.shared_bytes) {
      return InputError(Name() + ": more shared memory than the " +
                        std::to_string(options_.shared_bytes) + " bytes of a block");
    }
    shared_bytes_ = *shared;
    warps_ = (threads_ + kLanes - 1) / kLanes;
    // Registers of a kernel, up to 2^20 of them, and warps, up to 32, cannot overflow; local memory
    // is bounded by the text.
    in_flight_ = kernel_->wants_block_order || options_.observer != nullptr
                     ? 1
                     : static_cast<uint64_t>(std::clamp(options_.threads, 1, 256));
    const uint64_t each =
        kernel_->register_bytes * warps_ + shared_bytes_ + kernel_->local_bytes * threads_;
    if (each > options_.memory_bytes) {
      return InputError(Name() + ": a block needs " + std::to_string(each) +
                            " bytes of registers, shared and local memory, allowed are " +
                            std::to_string(options_.memory_bytes),
                        "raise the memory limit of the launch");
    }
    in_flight_ =
        std::min({in_flight_, blocks_,
                  std::max<uint64_t>(1, options_.memory_bytes / std::max<uint64_t>(each, 1))});
    return {};
  }

  void ChangeSteps() {
    if (options_.changer == nullptr) return;
    changed_ = *executable_;
    for (size_t i = 0; i < changed_.steps.size(); ++i) {
      if (changed_.steps[i] == nullptr) continue;
      changed_.steps[i] = options_.changer->Changed(kernel_->instructions[i], changed_.steps[i]);
    }
    executable_ = &changed_;
  }

  void Prepare(Context& context) {
    const size_t instructions = kernel_->instructions.size();
    context.registers.resize(kernel_->register_bytes * warps_);
    context.shared.resize(shared_bytes_);
    context.local.resize(kernel_->local_bytes * threads_);
    context.executions.warps.resize(instructions);
    context.executions.lanes.resize(instructions);
    Block& block = context.block;
    block.memory = &memory_;
    block.shared = context.shared;
    block.local = context.local.data();
    block.local_bytes = kernel_->local_bytes;
    block.target = target_;
    block.observer = options_.observer;
    block.warps.resize(warps_);
  }

  // Registers start at 0, shared and local memory as poison: a run never depends on the block
  // before.
  void Start(Context& context, const std::array<uint32_t, 3>& block_at) {
    std::ranges::fill(context.registers, std::byte{0});
    std::ranges::fill(context.shared, std::byte{0xff});
    std::ranges::fill(context.local, std::byte{0xff});
    Block& block = context.block;
    block.fault.reset();
    block.live_threads = static_cast<uint32_t>(threads_);
    for (uint64_t i = 0; i < warps_; ++i) {
      Warp& warp = block.warps[i];
      warp.registers = context.registers.data() + i * kernel_->register_bytes;
      warp.constants = reinterpret_cast<const std::byte*>(kernel_->constants.data());
      warp.block = &block;
      warp.first_thread = static_cast<uint32_t>(i * kLanes);
      const uint64_t lanes = std::min<uint64_t>(threads_ - i * kLanes, kLanes);
      warp.live = lanes == kLanes ? kAllLanes : (1u << lanes) - 1;
      warp.carry = 0;
      warp.groups.assign(1, {0, warp.live});
      for (const auto& [special, offset] : kernel_->specials) {
        for (uint32_t l = 0; l < kLanes; ++l) {
          const uint32_t value = SpecialValue(special, warp.first_thread + l, block_at, request_);
          std::memcpy(warp.registers + offset + 4 * l, &value, 4);
        }
      }
    }
  }

  bool GoOn(uint64_t steps) {
    const uint64_t all = steps_.fetch_add(steps) + steps;
    if (all > options_.steps) stopped_by_ = 1;
    if (options_.stop.stop_requested()) stopped_by_ = 2;
    if (options_.deadline.has_value() && std::chrono::steady_clock::now() > *options_.deadline)
      stopped_by_ = 3;
    return stopped_by_ == 0;
  }

  void RunRange(IndexRange range) {
    Context context;
    Prepare(context);
    const Continue go_on = [this](uint64_t steps) { return GoOn(steps); };
    for (int64_t i = range.begin; i < range.end; ++i) {
      const auto index = static_cast<uint64_t>(i);
      if (stopped_by_ != 0 || index > first_fault_) break;
      Start(context, Unflattened(index, request_.grid));
      if (options_.observer != nullptr) options_.observer->Starts(context.block, index);
      if (!RunBlock(*executable_, context.block, context.executions, go_on)) break;
      if (context.block.fault.has_value()) {
        NoteFault(index, *context.block.fault);
        break;
      }
    }
    const std::scoped_lock lock(mutex_);
    for (size_t i = 0; i < context.executions.warps.size(); ++i) {
      executions_.warps[i] += context.executions.warps[i];
      executions_.lanes[i] += context.executions.lanes[i];
    }
    padding_reads_ += context.block.padding_reads;
  }

  void NoteFault(uint64_t block, const RawFault& fault) {
    const std::scoped_lock lock(mutex_);
    if (block >= first_fault_) return;
    first_fault_ = block;
    fault_ = fault;
  }

  Status RunBlocks() {
    executions_.warps.resize(kernel_->instructions.size());
    executions_.lanes.resize(kernel_->instructions.size());
    if (options_.only_block.has_value()) {
      const auto& at = *options_.only_block;
      const auto index = static_cast<int64_t>(
          at[0] + uint64_t{request_.grid[0]} * (at[1] + uint64_t{request_.grid[1]} * at[2]));
      RunRange({index, index + 1});
    } else if (in_flight_ == 1) {
      RunRange({0, static_cast<int64_t>(blocks_)});
    } else {
      const auto parts = static_cast<int64_t>(std::min(blocks_, in_flight_ * 4));
      HLOSCOPE_TRY(SharedJobs(static_cast<int>(in_flight_)).ParallelFor(parts, [&](int64_t part) {
        RunRange(PartOf(static_cast<int64_t>(blocks_), parts, part));
      }));
    }
    if (stopped_by_ == 0) return {};
    static constexpr const char* kReasons[] = {"", "more steps than allowed", "stopped on request",
                                               "its deadline passed"};
    return std::unexpected(Error{ErrorClass::kDied,
                                 Name() + ": " + kReasons[stopped_by_],
                                 {},
                                 "raise the limit, or run fewer blocks"});
  }

  LaunchResult Finish() {
    LaunchResult result;
    Counters& counters = result.counters;
    for (size_t i = 0; i < executions_.warps.size(); ++i) {
      Count(counters, kernel_->instructions[i], executions_.warps[i], executions_.lanes[i]);
    }
    counters.padding_bytes = padding_reads_;
    if (first_fault_ != kNoBlock) result.fault = FaultOf(fault_, first_fault_);
    return result;
  }

  static void Count(Counters& counters, const Instruction& in, uint64_t warps, uint64_t lanes) {
    counters.warp_instructions += warps;
    uint64_t* const classes[] = {&counters.arithmetic, &counters.bitwise, &counters.move,
                                 &counters.compare,    &counters.convert, &counters.function,
                                 &counters.memory,     &counters.control, &counters.warp,
                                 &counters.tensor};
    *classes[static_cast<size_t>(ClassOf(in.operation))] += lanes;
    const StateSpace space = ModifierStateSpace(in);
    const bool shared = space == StateSpace::kShared || space == StateSpace::kSharedCta;
    const bool global =
        space == StateSpace::kNone || space == StateSpace::kGlobal || space == StateSpace::kConst;
    const uint64_t bytes = lanes * BytesOf(in.type) * in.vector_width();
    const uint64_t matrix_bytes = warps * (in.slot_count - 1) * 128;
    switch (in.operation) {
      case Operation::kLd:
        (shared   ? counters.shared_read_bytes
         : global ? counters.global_read_bytes
                  : counters.local_bytes) += bytes;
        break;
      case Operation::kSt:
        (shared   ? counters.shared_written_bytes
         : global ? counters.global_written_bytes
                  : counters.local_bytes) += bytes;
        break;
      case Operation::kAtom:
      case Operation::kAtomCas:
      case Operation::kRed:
        (shared ? counters.shared_read_bytes : counters.global_read_bytes) += bytes;
        (shared ? counters.shared_written_bytes : counters.global_written_bytes) += bytes;
        break;
      case Operation::kCpAsync:
      case Operation::kCpAsyncIgnore:
        counters.global_read_bytes += lanes * in.value;
        counters.shared_written_bytes += lanes * in.value;
        break;
      case Operation::kLdmatrix:
        counters.shared_read_bytes += matrix_bytes;
        break;
      case Operation::kStmatrix:
        counters.shared_written_bytes += matrix_bytes;
        break;
      default:
        break;
    }
  }

  Fault FaultOf(const RawFault& raw, uint64_t block) const {
    const Instruction& in = kernel_->instructions[raw.pc];
    Fault fault;
    fault.what = raw.what;
    fault.kernel = kernel_->name;
    fault.place = {contents_.program.syntax.file, in.position.line, in.position.column};
    fault.form = kernel_->forms[raw.pc];
    fault.block = Unflattened(block, request_.grid);
    fault.thread = Unflattened(raw.thread, request_.block);
    if (!raw.has_address) return fault;
    fault.address = raw.address;
    const uint64_t window = raw.address >> kWindowShift;
    if (window >= kFirstArgumentWindow &&
        window - kFirstArgumentWindow < kernel_->parameters.size()) {
      fault.argument = static_cast<uint32_t>(window - kFirstArgumentWindow);
    }
    return fault;
  }

  const Module::Contents& contents_;
  const LaunchRequest& request_;
  const LaunchOptions& options_;
  const Executable* executable_ = nullptr;
  Executable changed_;  // by StepChanger
  const Kernel* kernel_ = nullptr;
  uint64_t blocks_ = 1, threads_ = 1, warps_ = 1, shared_bytes_ = 0, in_flight_ = 1;
  uint32_t target_ = 0;
  LaunchMemory memory_;
  std::vector<std::byte> parameter_bytes_;
  std::vector<std::vector<std::byte>> variable_bytes_;
  std::atomic<uint64_t> steps_ = 0;
  std::atomic<int> stopped_by_ = 0;
  std::atomic<uint64_t> first_fault_ = kNoBlock;
  std::mutex mutex_;
  RawFault fault_;
  Executions executions_;
  uint64_t padding_reads_ = 0;
};

std::string Fault::ToString() const {
  const auto at = [](const std::array<uint32_t, 3>& v) {
    return "(" + std::to_string(v[0]) + ", " + std::to_string(v[1]) + ", " + std::to_string(v[2]) +
           ")";
  };
  return place.ToString() + ": `" + form + "` " + what + "; kernel " + kernel + ", block " +
         at(block) + ", thread " + at(thread);
}

Result<LaunchResult> Launch(const Module& module, const LaunchRequest& request,
                            const LaunchOptions& options) {
  return Launcher(module, request, options).Run();
}

}  // namespace hloscope::ptx
