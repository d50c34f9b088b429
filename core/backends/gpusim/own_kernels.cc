// The row of our own GPU kernels, launched on the simulated GPU one after the other.
#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/backends/compiled/gpu_backend.h"
#include "core/backends/compiled/gpu_launches.h"
#include "core/backends/gpusim/own_launches.h"
#include "core/backends/gpusim/run_checks.h"
#include "core/backends/gpusim/switched_kernels.h"
#include "core/backends/pjrt/gpu_architecture.h"
#include "core/base/jobs.h"
#include "core/compile/gpu_code.h"
#include "core/ptx/ptx.h"
#include "core/replay/gpu_targets.h"

namespace hloscope::replay {
namespace {

using compile::GpuCode;
using compile::GpuKernel;
using hlo::InstructionId;

// A parameter of eight bytes that is no address.
ptx::Argument Number(int64_t value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  return {{}, std::vector(bytes.begin(), bytes.end())};
}

// What the launches of a run keep to, and what was found in them.
class RunOfLaunches : public RunListener {
 public:
  explicit RunOfLaunches(profiler::DeviceFacts device) : device_(std::move(device)) {}
  void Begin(const RunOptions& options) override {
    options_ = options;
    found_.emplace(options);
    switched_.reset();
    if (options.capture.search) {
      auto switched = SwitchedKernels::Make(*options.capture.search);
      if (switched.has_value()) switched_ = *std::move(switched);
    }
    recorded_.reset();
    if (options.record.steps > 0) recorded_.emplace(device_);
  }
  void AddTo(TraceSteps& steps) override {
    if (recorded_) recorded_->GiveTo(steps);
  }
  void End(RunStream& stream) override {
    found_->Tell(stream);
    if (recorded_) recorded_->Tell(stream);
  }

  const RunOptions& options() const { return options_; }
  // Null: launches are not recorded.
  OwnLaunches* recorded() { return recorded_ ? &*recorded_ : nullptr; }
  ptx::LaunchOptions HowToLaunch() const {
    ptx::LaunchOptions how;
    how.threads = options_.budget.threads > 0 ? options_.budget.threads : AvailableCpus();
    how.deadline = options_.budget.deadline;
    how.stop = options_.budget.stop;
    how.count_traffic = recorded_.has_value();
    how.changer = switched_ == nullptr ? nullptr : switched_->changer();
    how.count_lines = recorded_.has_value() && options_.record.pc_sampling;
    return how;
  }
  void Add(const RunChecks& checks) {
    const std::lock_guard lock(mutex_);
    found_->Add(checks);
  }

 private:
  profiler::DeviceFacts device_;
  RunOptions options_;
  std::optional<OwnLaunches> recorded_;
  std::unique_ptr<SwitchedKernels> switched_;  // null: nothing is switched
  std::mutex mutex_;                           // devices run at the same time
  std::optional<RunChecks> found_;
};

// A kernel as the launch of its grains, and of its second entry where it has one.
class LaunchedKernel : public compile::LibraryCall {
 public:
  LaunchedKernel(const hlo::Module& module, InstructionId id, const ptx::Module& code,
                 GpuKernel kernel, RunOfLaunches& run)
      : id_(id),
        instruction_(module.name(id)),
        code_(code),
        launches_(LaunchesOf(kernel)),
        kernel_(std::move(kernel)),
        run_(run) {
    for (const InstructionId operand : module.operands(id)) {
      arrays_.push_back(
          {Bytes(module.shape(operand)), fmt::format("operand {}", module.name(operand)), true});
    }
    const auto leaves = module.shape(id).LeafShapes();
    for (size_t i = 0; i < leaves.size(); ++i) {
      const bool in_place = i < kernel_.in_place.size() && kernel_.in_place[i] >= 0;
      arrays_.push_back({Bytes(*leaves[i]), fmt::format("result {}", i), in_place});
    }
    results_ = leaves.size();
    arrays_.push_back({static_cast<size_t>(kernel_.scratch_bytes), "scratch", false});
  }

  bool is_kernel() const override { return true; }

  Status Run(const std::byte* const* operands, std::byte* const* results, std::byte* scratch,
             int64_t, int64_t) const override {
    const size_t inputs = arrays_.size() - results_ - 1;
    ptx::LaunchRequest request;
    RunChecks checks(run_.options());
    for (size_t i = 0; i < arrays_.size(); ++i) {
      std::byte* const address = i < inputs              ? const_cast<std::byte*>(operands[i])
                                 : i < inputs + results_ ? results[i - inputs]
                                                         : scratch;
      const std::span<std::byte> memory(address, arrays_[i].bytes);
      request.arguments.push_back({memory, {}});
      // What is updated in place is the operand's already.
      if (i >= inputs && arrays_[i].is_written) continue;
      checks.Allocated(memory);
      if (arrays_[i].is_written) checks.Written(memory);
    }
    std::vector<std::vector<std::byte>> in_order;
    if (checks.shuffles() && launches_.size() > 1) {
      HLOSCOPE_ASSIGN_OR_RETURN(in_order, RunInOrder(request));
    }
    Status status;
    for (size_t i = 0; status.has_value() && i < launches_.size(); ++i) {
      status = Launch(request, launches_[i], checks);
    }
    request.entry = kernel_.name;
    if (status.has_value()) checks.KeepDifference(LaunchedHere(), request, in_order);
    for (size_t i = 0; status.has_value() && i < results_; ++i) {
      checks.CheckResult(instruction_, i, request.arguments[inputs + i].memory);
    }
    run_.Add(checks);
    return status;
  }

 private:
  struct KernelArray {
    size_t bytes = 0;
    std::string name;
    bool is_written = false;  // before the kernel runs
  };

  static size_t Bytes(const hlo::Shape& shape) {
    return static_cast<size_t>(shape.ByteSize().value_or(0));
  }

  // Scratch memory is no result: it may hold what has no order.
  LaunchedFor LaunchedHere() const {
    return {instruction_,
            [&](size_t i) { return i < arrays_.size() ? arrays_[i].name : "a number"; },
            arrays_.size() - 1};
  }

  static ptx::LaunchRequest RequestOf(ptx::LaunchRequest request, const GpuLaunch& launch) {
    request.entry = launch.entry;
    request.grid = launch.grid;
    request.block = launch.block;
    for (const int64_t number : launch.numbers) request.arguments.push_back(Number(number));
    return request;
  }

  // What operands and results hold behind all launches in order. They hold what they held, then.
  Result<std::vector<std::vector<std::byte>>> RunInOrder(const ptx::LaunchRequest& request) const {
    std::vector<std::vector<std::byte>> before, after;
    for (const ptx::Argument& each : request.arguments) {
      before.emplace_back(each.memory.begin(), each.memory.end());
    }
    for (const GpuLaunch& launch : launches_) {
      HLOSCOPE_ASSIGN_OR_RETURN(const ptx::LaunchResult result,
                                ptx::Launch(code_, RequestOf(request, launch), run_.HowToLaunch()));
      if (result.fault) return InternalError("our own code for a GPU: " + result.fault->ToString());
    }
    for (size_t i = 0; i < before.size(); ++i) {
      const std::span<std::byte> memory = request.arguments[i].memory;
      if (i + 1 < before.size()) after.emplace_back(memory.begin(), memory.end());
      // What is only read may be memory that nobody can write to.
      if (!std::ranges::equal(before[i], memory)) std::ranges::copy(before[i], memory.begin());
    }
    return after;
  }

  Status Launch(const ptx::LaunchRequest& arrays, const GpuLaunch& launch,
                RunChecks& checks) const {
    const ptx::LaunchRequest request = RequestOf(arrays, launch);
    const LaunchedFor launched = LaunchedHere();
    HLOSCOPE_ASSIGN_OR_RETURN(const ptx::LaunchResult result,
                              checks.Launch(launched, code_, request, run_.HowToLaunch()));
    if (result.fault) return InternalError("our own code for a GPU: " + result.fault->ToString());
    if (OwnLaunches* const recorded = run_.recorded()) {
      recorded->Add(id_, code_, request, result);
    }
    if (result.counters.padding_bytes > 0) {
      return InternalError(
          fmt::format("our own code for a GPU: {} reads past an array", launch.entry));
    }
    return {};
  }

  InstructionId id_;
  std::string instruction_;
  const ptx::Module& code_;
  std::vector<GpuLaunch> launches_;
  GpuKernel kernel_;
  RunOfLaunches& run_;
  std::vector<KernelArray> arrays_;  // operands, results, scratch
  size_t results_ = 0;
};

class SimulatedKernels : public compile::KernelLibrary {
 public:
  static Result<std::unique_ptr<SimulatedKernels>> Make(const hlo::Module& module, GpuCode code,
                                                        std::shared_ptr<RunOfLaunches> run) {
    std::unique_ptr<SimulatedKernels> out(new SimulatedKernels);
    out->run_ = std::move(run);
    for (size_t i = 0; i < code.modules.size(); ++i) {
      auto parsed = ptx::Module::Parse(std::move(code.modules[i]), fmt::format("part_{}.ptx", i));
      if (!parsed.has_value()) return InternalError(parsed.error().ToString());
      for (const ptx::EntryInfo& entry : parsed->entries()) {
        if (entry.unsupported.empty()) continue;
        return InternalError("our own code for a GPU: " + entry.unsupported[0].ToString());
      }
      out->modules_.push_back(std::make_unique<ptx::Module>(*std::move(parsed)));
    }
    out->count_ = std::ssize(code.kernels);
    for (const GpuCode::Use& use : code.uses) {
      const GpuKernel& kernel = code.kernels[use.kernel];
      compile::KernelCode& launched = out->code_[use.instruction.index];
      launched.name = kernel.name;
      launched.scratch_bytes = kernel.scratch_bytes;
      launched.in_place = kernel.in_place;
      launched.library = std::make_shared<LaunchedKernel>(
          module, use.instruction, *out->modules_[kernel.module], kernel, *out->run_);
    }
    return out;
  }

  const compile::KernelCode* Find(InstructionId id) const override {
    const auto found = code_.find(id.index);
    return found == code_.end() ? nullptr : &found->second;
  }
  int64_t function_count() const override { return count_; }

 private:
  SimulatedKernels() = default;

  std::vector<std::unique_ptr<ptx::Module>> modules_;
  std::unordered_map<uint32_t, compile::KernelCode> code_;
  int64_t count_ = 0;
  std::shared_ptr<RunOfLaunches> run_;
};

class SimulatedGpuBackend : public GpuBackend {
 public:
  bool AnswersSearch(const SearchRequest& search) const override {
    return search.name == kSwitchedKernelsSearch;
  }

 protected:
  Result<std::string> Begin(const RunOptions& options, CompiledCode& out) const override {
    const std::string device = options.load.gpu_target.empty() ? "h100" : options.load.gpu_target;
    // What nobody describes has no model.
    const auto described = ReadGpuTarget(device, options.limits);
    out.listener = std::make_shared<RunOfLaunches>(
        described.has_value() ? profiler::FactsFromTarget(*described) : profiler::DeviceFacts());
    if (options.load.gpu_target.empty()) return std::string("sm_90");
    return GpuArchitecture(options.load.gpu_target, options.limits);
  }

  Status Load(std::shared_ptr<const hlo::Module> module, GpuCode code, const RunOptions&,
              CompiledCode& out) const override {
    HLOSCOPE_ASSIGN_OR_RETURN(
        out.libraries.emplace_back(),
        SimulatedKernels::Make(*module, std::move(code),
                               std::static_pointer_cast<RunOfLaunches>(out.listener)));
    return {};
  }
};

}  // namespace

std::unique_ptr<Platform> MakeSimulatedGpuPlatform(const PlatformRow& row, std::string_view) {
  return MakeCompiledPlatform(row, std::make_unique<SimulatedGpuBackend>());
}

}  // namespace hloscope::replay
