// A request held to its kernel; arguments and variables become windows.
#include "core/ptx/launch_plan.h"

#include <algorithm>
#include <cstring>

#include "core/base/checked.h"
#include "core/ptx/machine/matrix_form.h"
#include "core/ptx/machine/step_changer.h"

namespace hloscope::ptx {
namespace {

constexpr uint64_t kPadding = 256;

uint64_t RoundUp(uint64_t value, uint64_t align) { return (value + align - 1) / align * align; }

class Planner {
 public:
  Planner(const Module::Contents& contents, const LaunchRequest& request,
          const LaunchOptions& options, LaunchPlan& plan)
      : contents_(contents), request_(request), options_(options), plan_(plan) {}

  Status Plan() {
    HLOSCOPE_TRY(FindEntry());
    HLOSCOPE_TRY(CheckShape());
    HLOSCOPE_TRY(CheckTarget());
    HLOSCOPE_TRY(MakeArguments());
    MakeVariables();
    HLOSCOPE_TRY(CheckMemory());
    ChangeSteps();
    return {};
  }

 private:
  std::string Name() const { return "kernel " + request_.entry; }

  Status FindEntry() {
    for (const Executable& executable : contents_.executables) {
      if (executable.kernel->name == request_.entry) plan_.executable = &executable;
    }
    if (plan_.executable == nullptr) {
      return InputError("no entry `" + request_.entry + "` in " + contents_.program.syntax.file,
                        "see the entries of the module");
    }
    plan_.kernel = plan_.executable->kernel;
    const auto& unsupported =
        contents_.entries[static_cast<size_t>(plan_.executable - contents_.executables.data())]
            .unsupported;
    if (!unsupported.empty()) return std::unexpected(unsupported.front());
    return CheckDevices();
  }

  // What multimem reaches on other devices is not here.
  Status CheckDevices() const {
    for (size_t i = 0; i < plan_.kernel->forms.size() && request_.devices > 1; ++i) {
      if (!plan_.kernel->forms[i].starts_with("multimem.")) continue;
      const Position& at = plan_.kernel->instructions[i].position;
      return std::unexpected(Error{ErrorClass::kUnsupported,
                                   "`" + plan_.kernel->forms[i] + "` on " +
                                       std::to_string(request_.devices) +
                                       " devices: it is executed on one alone",
                                   {contents_.program.syntax.file, at.line, at.column},
                                   "kernels with it are not executed"});
    }
    return {};
  }

  Status CheckShape() {
    plan_.grid = request_.grid;
    plan_.block = request_.block;
    for (int i = 0; i < 3; ++i) {
      if (request_.grid[i] == 0 || request_.block[i] == 0) {
        return InputError(Name() + ": a grid or block with a size of 0", "sizes start at 1");
      }
      const auto blocks = CheckedMul<uint64_t>(plan_.blocks, request_.grid[i]);
      const auto threads = CheckedMul<uint64_t>(plan_.threads, request_.block[i]);
      if (!blocks.has_value() || !threads.has_value() || *threads > 1024) {
        return InputError(Name() + ": more than 1024 threads in a block, or blocks beyond 64 bits",
                          "no GPU runs it");
      }
      plan_.blocks = *blocks;
      plan_.threads = *threads;
      const uint32_t required = plan_.kernel->required_threads[i];
      if (required != 0 && required != request_.block[i]) {
        return InputError(Name() + ": launched with other threads than its .reqntid",
                          "pass those of .reqntid");
      }
    }
    HLOSCOPE_TRY(CheckCluster());
    if (!options_.only_block.has_value()) return {};
    for (int i = 0; i < 3; ++i) {
      if ((*options_.only_block)[i] >= request_.grid[i])
        return InputError(Name() + ": the block asked for is outside of the grid");
    }
    return {};
  }

  Status CheckCluster() {
    for (size_t i = 0; i < 3; ++i) {
      const uint32_t required = plan_.kernel->required_cluster[i], asked = request_.cluster[i];
      if (required != 0 && asked != 0 && required != asked) {
        return InputError(Name() + ": launched with another cluster than its .reqnctapercluster",
                          "pass that of .reqnctapercluster");
      }
      plan_.cluster[i] = std::max({required, asked, 1u});
      plan_.cluster_blocks *= plan_.cluster[i];
      if (plan_.grid[i] % plan_.cluster[i] != 0) {
        return InputError(Name() + ": " + std::to_string(plan_.grid[i]) +
                              " blocks, which is not a multiple of the " +
                              std::to_string(plan_.cluster[i]) + " of its cluster",
                          "a real device would not launch it");
      }
    }
    if (plan_.cluster_blocks == 1) return {};
    if (plan_.cluster_blocks > kMaxClusterBlocks) {
      return InputError(Name() + ": a cluster of " + std::to_string(plan_.cluster_blocks) +
                            " blocks, the most are 16",
                        "a real device would not launch it");
    }
    const uint64_t warps = (plan_.threads + kLanes - 1) / kLanes * plan_.cluster_blocks;
    if (options_.checks.any() && warps > kLanes) {
      return UnsupportedError(
          Name() + ": checks of clusters of more than 32 warps, this has " + std::to_string(warps),
          "run it without --check");
    }
    return {};
  }

  Status CheckTarget() {
    plan_.target = request_.target;
    if (plan_.target == 0) plan_.target = SmOf(contents_.target);
    if (plan_.cluster_blocks > 1 && plan_.target < 90)
      return InputError(Name() + ": clusters of blocks before sm_90", "no GPU runs it");
    for (const Instruction& instruction : plan_.kernel->instructions) {
      if (ClassOf(instruction.operation) != InstructionClass::kTensor) continue;
      if (Status status = CheckProduct(instruction, plan_.target); !status.has_value()) {
        status.error().place = {contents_.program.syntax.file, instruction.position.line,
                                instruction.position.column};
        return status;
      }
    }
    return {};
  }

  Status MakeArguments() {
    const auto& parameters = plan_.kernel->parameters;
    if (request_.arguments.size() != parameters.size()) {
      return InputError(Name() + " takes " + std::to_string(parameters.size()) +
                        " arguments, given " + std::to_string(request_.arguments.size()));
    }
    plan_.parameter_bytes.resize(RoundUp(plan_.kernel->parameter_bytes, 16));
    for (size_t i = 0; i < parameters.size(); ++i) {
      const Argument& argument = request_.arguments[i];
      std::byte* to = plan_.parameter_bytes.data() + parameters[i].offset;
      const uint64_t size = argument.memory.size();
      plan_.memory.arguments.push_back(
          {argument.memory.data(), size, RoundUp(size, kPadding), true});
      if (argument.value.has_value()) {
        if (argument.value->size() != parameters[i].bytes) {
          return InputError(Name() + ": argument " + std::to_string(i) + " has " +
                            std::to_string(argument.value->size()) + " bytes, its parameter " +
                            std::to_string(parameters[i].bytes));
        }
        std::copy(argument.value->begin(), argument.value->end(), to);
        continue;
      }
      if (size >= uint64_t{1} << kWindowShift)
        return InputError(Name() + ": an argument of 64 GiB or more", "split it");
      const uint64_t address = (kFirstArgumentWindow + i) << kWindowShift;
      if (argument.map.has_value()) {
        HLOSCOPE_TRY(PutMap(parameters[i], *argument.map, size, address, to));
        continue;
      }
      if (parameters[i].bytes != 8) {
        return InputError(Name() + ": argument " + std::to_string(i) +
                              " is memory, its parameter is not a pointer",
                          "pass a value of " + std::to_string(parameters[i].bytes) + " bytes");
      }
      std::memcpy(to, &address, 8);
    }
    plan_.memory.parameters = {plan_.parameter_bytes.data(), plan_.kernel->parameter_bytes,
                               plan_.kernel->parameter_bytes, false};
    return {};
  }

  Status PutMap(const Parameter& parameter, const TensorMap& map, uint64_t size, uint64_t address,
                std::byte* to) {
    if (parameter.bytes != kTensorMapBytes) {
      return InputError(Name() + ": parameter " + parameter.name + " has " +
                            std::to_string(parameter.bytes) + " bytes, a tensor map 128",
                        "pass a pointer or a value");
    }
    if (Status status = CheckTensorMap(map, size); !status) {
      status.error().message.insert(0, Name() + ", " + parameter.name + ": ");
      return status;
    }
    const auto bytes = EncodeTensorMap(map, address);
    std::ranges::copy(bytes, to);
    return {};
  }

  // Variables of the module start with their initial values in every launch.
  void MakeVariables() {
    const auto& variables = contents_.program.syntax.variables;
    plan_.variable_bytes.resize(variables.size());
    for (size_t i = 0; i < variables.size(); ++i) {
      const Variable& variable = variables[i];
      const bool is_shared = variable.space == Space::kShared;
      std::vector<std::byte>& bytes = plan_.variable_bytes[i];
      if (!is_shared) bytes.resize(variable.bytes);
      if (!variable.initial.empty() && !is_shared)
        std::memcpy(bytes.data(), variable.initial.data(), variable.initial.size());
      plan_.memory.variables.push_back(
          {bytes.data(), bytes.size(), bytes.size(), variable.space == Space::kGlobal});
    }
  }

  Status CheckMemory() {
    const auto shared =
        CheckedAdd(plan_.kernel->static_shared_bytes, request_.dynamic_shared_bytes);
    const uint64_t most =
        options_.shared_bytes != 0 ? options_.shared_bytes : MostSharedBytes(plan_.target);
    if (!shared.has_value() || *shared > most) {
      return InputError(Name() + ": more shared memory than the " + std::to_string(most) +
                            " bytes that a block has on sm_" + std::to_string(plan_.target),
                        "a real device would not launch it");
    }
    plan_.shared_bytes = *shared;
    plan_.warps = (plan_.threads + kLanes - 1) / kLanes;
    // Registers of a kernel, up to 2^20 of them, and warps, up to 32, cannot overflow; local memory
    // is bounded by the text.
    const bool in_order = plan_.kernel->wants_block_order || options_.observer != nullptr ||
                          options_.shuffle.has_value() || options_.only_block.has_value();
    plan_.in_flight = in_order ? 1 : static_cast<uint64_t>(std::clamp(options_.threads, 1, 256));
    const uint64_t each =
        plan_.cluster_blocks * (plan_.kernel->register_bytes * plan_.warps + plan_.shared_bytes +
                                plan_.kernel->local_bytes * plan_.threads);
    if (each > options_.memory_bytes) {
      return InputError(Name() + ": a block or cluster needs " + std::to_string(each) +
                            " bytes of registers, shared and local memory, allowed are " +
                            std::to_string(options_.memory_bytes),
                        "raise the memory limit of the launch");
    }
    plan_.in_flight =
        std::min({plan_.in_flight, plan_.clusters(),
                  std::max<uint64_t>(1, options_.memory_bytes / std::max<uint64_t>(each, 1))});
    return {};
  }

  void ChangeSteps() {
    if (options_.changer == nullptr) return;
    std::vector<Step> steps = plan_.executable->steps;
    for (size_t i = 0; i < steps.size(); ++i) {
      if (steps[i] == nullptr) continue;
      steps[i] = options_.changer->Changed(plan_.kernel->instructions[i], steps[i]);
    }
    plan_.changed = Executable(*plan_.kernel, std::move(steps));
    plan_.executable = &plan_.changed;
  }

  const Module::Contents& contents_;
  const LaunchRequest& request_;
  const LaunchOptions& options_;
  LaunchPlan& plan_;
};

}  // namespace

uint32_t SmOf(std::string_view target) {
  uint32_t sm = 0;
  if (!target.starts_with("sm_")) return sm;
  for (const char c : target.substr(3, 4)) {
    if (c >= '0' && c <= '9') sm = sm * 10 + static_cast<uint32_t>(c - '0');
  }
  return sm;
}

uint64_t MostSharedBytes(uint32_t sm) {
  constexpr uint64_t kKib = 1024;
  switch (sm) {
    case 70:
    case 72:
      return 96 * kKib;
    case 75:
      return 64 * kKib;
    case 80:
    case 87:
      return 163 * kKib;
    case 86:
    case 89:
    case 120:
    case 121:
      return 99 * kKib;
    default:
      return 227 * kKib;
  }
}

Status MakePlan(const Module::Contents& contents, const LaunchRequest& request,
                const LaunchOptions& options, LaunchPlan& plan) {
  return Planner(contents, request, options, plan).Plan();
}

}  // namespace hloscope::ptx
