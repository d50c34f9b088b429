// FallbackPlatform: loads a module whole, else finds what is refused and loads the rest around it.
#include "core/debug/pieces/fallback_platform.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "core/analysis/place/placement.h"
#include "core/backends/compiled/plan_code.h"
#include "core/base/counted.h"
#include "core/debug/pieces/refusals.h"
#include "core/debug/pieces/split_run.h"
#include "core/hlo/expand/custom_calls.h"
#include "core/hlo/sharding/topology.h"
#include "core/hlo/text/text.h"

namespace hloscope::debug {
namespace {

using hlo::InstructionId;
using hlo::Module;
using replay::Executable;
using replay::RunFallback;
using replay::RunOptions;
using replay::RunResult;
using replay::RunStream;

constexpr int64_t kLoadsToName = 40;  // of parts, to name what is refused
constexpr int64_t kLoadsToReplace = 4000;

bool Ends(const Error& error, const RunOptions& options) {
  if (options.budget.stop.stop_requested()) return true;
  if (error.error_class == ErrorClass::kInternal) return false;
  return options.budget.deadline && std::chrono::steady_clock::now() >= *options.budget.deadline;
}

// Whether the evaluator knows what it is.
bool HostRuns(const Module& module, InstructionId id) {
  if (module[id].opcode != hlo::Opcode::kCustomCall) return true;
  const auto* const row = hlo::expand::FindCustomCall(module, id);
  return row != nullptr && row->runs();
}

bool IsCallback(const Module& module, InstructionId id) {
  return analysis::IsHostCallback(module, module[id]);
}

// The detail may begin with the name of the instruction, as messages of ours do.
std::string What(const Module& module, const Refusal& refusal) {
  const std::string_view name = module.name(refusal.instruction);
  std::string_view detail = refusal.detail;
  if (detail.starts_with(fmt::format("{}: ", name))) detail.remove_prefix(name.size() + 2);
  return fmt::format("{} ({}): {}: {}", name, hlo::ToString(module[refusal.instruction].opcode),
                     Describe(refusal.reason), detail);
}

// "; and 5 more, a, b, c", of what stands behind the first.
template <typename T, typename NameOf>
std::string AndMore(const std::vector<T>& all, const NameOf& name_of) {
  std::string text;
  if (all.size() > 1) text += fmt::format("; and {} more, ", all.size() - 1);
  for (size_t i = 1; i < all.size() && i < 4; ++i) {
    text += i == 1 ? "" : ", ";
    text += name_of(all[i]);
  }
  return text;
}
std::string HostRunsThem(size_t count) {
  return fmt::format("--fallback cpu runs {} on the host", VerbFor(count, "it", "them"));
}

// The error that names what is refused; `all` is not empty.
Error Named(const Module& module, const std::vector<Refusal>& all, Error error) {
  std::string text = What(module, all[0]);
  text += AndMore(all, [&](const Refusal& it) { return module.name(it.instruction); });
  error.message = std::move(text);
  const auto unknown = std::ranges::find_if(
      all, [&](const Refusal& it) { return !HostRuns(module, it.instruction); });
  if (unknown == all.end()) {
    error.hint = HostRunsThem(all.size());
  } else {
    const auto* const row = hlo::expand::FindCustomCall(module, unknown->instruction);
    error.hint = row != nullptr && !row->fix.empty()
                     ? std::string(row->fix)
                     : "its semantics are unknown; extract a part without it";
  }
  return error;
}

std::vector<InstructionId> EntryOf(const Module& module) {
  std::vector<InstructionId> ids;
  for (uint32_t i = 0; i < module.entry().instruction_count; ++i) {
    ids.push_back(InstructionId(module.entry().first_instruction + i));
  }
  return ids;
}

// A module that no platform has a reason to refuse, for as many devices as that one.
std::shared_ptr<const Module> PlainModule(const Module& like) {
  return hlo::ParseText(fmt::format("HloModule plain, replica_count={}, num_partitions={}\n"
                                    "ENTRY e {{\n  p = f32[] parameter(0)\n"
                                    "  ROOT r = f32[] add(p, p)\n}}\n",
                                    like.header().replica_count, like.header().num_partitions))
      .module;
}

// Of a platform of ours that hands instructions over by itself. Results are held back until it is
// known that it did not.
class HostFallbackWatch : public RunStream {
 public:
  explicit HostFallbackWatch(RunStream& next) : next_(next) {}
  void Take(replay::RunEvent event) override {
    if (std::holds_alternative<replay::LeafResult>(event) ||
        std::holds_alternative<replay::RunExecuted>(event)) {
      results_.push_back(std::move(event));
      return;
    }
    if (auto* fallback = std::get_if<RunFallback>(&event)) {
      found_.push_back(std::move(*fallback));
      return;
    }
    next_.Take(std::move(event));
  }
  // Passes the results on, or names what was handed over. Where a result is missing for want of an
  // input (elided constants), that is the reason: without it the platform has no plan.
  Status Finish() {
    const bool lacks_input = std::ranges::any_of(results_, [](const replay::RunEvent& event) {
      const auto* result = std::get_if<replay::LeafResult>(&event);
      return result != nullptr && !result->value.has_value() &&
             result->value.error().error_class == ErrorClass::kInput;
    });
    if (found_.empty() || lacks_input) {
      for (replay::RunEvent& result : results_) next_.Take(std::move(result));
      return {};
    }
    const RunFallback& first = found_[0];
    std::string text =
        fmt::format("{} ({}): {}: {}", first.instruction, first.opcode, first.reason, first.detail);
    text += AndMore(found_, [](const RunFallback& it) { return it.instruction; });
    return UnsupportedError(std::move(text), HostRunsThem(found_.size()));
  }

 private:
  RunStream& next_;
  std::vector<replay::RunEvent> results_;
  std::vector<RunFallback> found_;
};

// Times of instructions by name, of the entry.
class StepTimes : public RunStream {
 public:
  StepTimes(const Module& module, bool passes_on, RunStream& next)
      : module_(module), passes_on_(passes_on), next_(next) {}
  void Take(replay::RunEvent event) override {
    if (const auto* steps = std::get_if<replay::TraceSteps>(&event)) {
      for (const runtime::RecordedStep& step : steps->steps.steps) {
        if (step.path != 0 || !step.instruction.valid()) continue;
        us_[step.instruction] += static_cast<double>(step.duration_ns) / 1e3;
      }
      if (!passes_on_) return;
    }
    if (!passes_on_ && std::holds_alternative<replay::TraceSlice>(event)) return;
    if (!passes_on_ && std::holds_alternative<replay::TraceSamples>(event)) return;
    next_.Take(std::move(event));
  }
  void Tell(hlo::FallbackReason reason, const std::string& detail) {
    const hlo::Computation& entry = module_.entry();
    for (uint32_t i = 0; i < entry.instruction_count; ++i) {
      const InstructionId id(entry.first_instruction + i);
      if (!CanBeRefused(module_, id)) continue;
      next_.Take(RunFallback{.instruction = std::string(module_.name(id)),
                             .opcode = std::string(hlo::ToString(module_[id].opcode)),
                             .reason = std::string(Describe(reason)),
                             .detail = detail,
                             .bytes_moved = 0,
                             .time_us = us_[id]});
    }
  }

 private:
  const Module& module_;
  bool passes_on_;
  RunStream& next_;
  std::map<InstructionId, double> us_;
};

// All of the module on the host.
class HostExecutable : public Executable {
 public:
  HostExecutable(std::shared_ptr<const Module> module, std::unique_ptr<replay::Platform> host,
                 std::unique_ptr<Executable> on_host, hlo::FallbackReason reason,
                 std::string detail)
      : module_(std::move(module)),
        host_(std::move(host)),
        on_host_(std::move(on_host)),
        reason_(reason),
        detail_(std::move(detail)) {}

  Result<RunResult> Run(std::span<const std::vector<hlo::Literal>> inputs,
                        const RunOptions& options, RunStream& stream) override {
    StepTimes times(*module_, options.record.steps > 0, stream);
    RunOptions recorded = options;
    constexpr int64_t kSteps = 1 << 16;
    recorded.record.steps = std::max(options.record.steps, kSteps);
    HLOSCOPE_ASSIGN_OR_RETURN(RunResult result, on_host_->Run(inputs, recorded, times));
    times.Tell(reason_, detail_);
    return result;
  }

 private:
  std::shared_ptr<const Module> module_;
  std::unique_ptr<replay::Platform> host_;
  std::unique_ptr<Executable> on_host_;
  hlo::FallbackReason reason_;
  std::string detail_;
};

class SplitExecutable : public Executable {
 public:
  SplitExecutable(std::shared_ptr<const Module> module, std::shared_ptr<replay::Platform> device,
                  std::unique_ptr<replay::Platform> host, std::unique_ptr<SplitModule> split)
      : module_(std::move(module)),
        device_(std::move(device)),
        host_(std::move(host)),
        split_(std::move(split)) {}

  Result<RunResult> Run(std::span<const std::vector<hlo::Literal>> inputs,
                        const RunOptions& options, RunStream& stream) override {
    if (options.capture.wants_more_than_results()) {
      return UnsupportedError("with --fallback cpu a platform reports results only",
                              "capture on another platform");
    }
    return SplitRun(*split_, {*device_, *host_, options}, stream).Run(inputs);
  }

 private:
  std::shared_ptr<const Module> module_;
  std::shared_ptr<replay::Platform> device_;
  std::unique_ptr<replay::Platform> host_;
  std::unique_ptr<SplitModule> split_;
};

class FallbackPlatform : public replay::Platform {
 public:
  FallbackPlatform(std::unique_ptr<replay::Platform> platform, MakeHost make_host,
                   Fallback fallback, Now now)
      : platform_(std::move(platform)),
        make_host_(std::move(make_host)),
        fallback_(fallback),
        now_(std::move(now)) {}

  std::string_view name() const override { return platform_->name(); }

  Result<std::unique_ptr<Executable>> Load(std::shared_ptr<const Module> module,
                                           const RunOptions& options) override {
    auto whole = platform_->Load(module, options);
    if (whole.has_value()) return Watched(std::move(module), *std::move(whole));
    if (fallback_ == Fallback::kNone || Ends(whole.error(), options)) return whole;
    return Replace(std::move(module), options, std::move(whole).error());
  }

  // What an error at loading, or of a run, leads to.
  Result<std::unique_ptr<Executable>> Replace(std::shared_ptr<const Module> module,
                                              const RunOptions& options, Error error) const {
    const hlo::FallbackReason reason = ReasonInWords(error.message);
    // Of a device of ours those are refusals of all that runs on it.
    const bool is_device =
        is_ours_on_a_device() && (reason == hlo::FallbackReason::kDeviceCapability ||
                                  reason == hlo::FallbackReason::kDeviceMemory);
    if (reason == hlo::FallbackReason::kNoDriver || is_device)
      return AllOnHost(std::move(module), options, reason, std::move(error));
    if (error.error_class == ErrorClass::kEnvironment && reason == hlo::FallbackReason::kNone) {
      return std::unexpected(std::move(error));  // no plugin, no library: no instruction's fault
    }
    // Kernels of a dump are those of the whole module: parts of it have none.
    const replay::PlatformRow* const row = replay::FindPlatform(name());
    if (row != nullptr && row->Has(replay::kRunsDumps) && options.load.gpu_target.empty()) {
      return std::unexpected(std::move(error));
    }
    if (IsUnpartitioned(*module, options)) return std::unexpected(std::move(error));
    // And so is the code of a .hloplan.
    if (replay::IsPlanFile(options.load.module_file)) {
      if (reason == hlo::FallbackReason::kNone) return std::unexpected(std::move(error));
      return AllOnHost(std::move(module), options, reason, std::move(error));
    }
    // A name is worth half of the time that is left: the error must not be lost to the deadline.
    std::optional<std::chrono::steady_clock::time_point> until;
    if (fallback_ != Fallback::kHost && options.budget.deadline) {
      const auto now = now_();
      until = now + (*options.budget.deadline - now) / 2;
    }
    const RefusalSearch::Load load =
        [&](const std::shared_ptr<const Module>& part) -> Result<std::optional<Error>> {
      if (until && now_() >= *until) return std::nullopt;
      const auto loaded = platform_->Load(part, options);
      if (loaded.has_value()) return std::nullopt;
      if (Ends(loaded.error(), options)) return std::unexpected(loaded.error());
      return loaded.error();
    };
    // What is asked for is wrong, such as a device that is not known.
    if (error.error_class == ErrorClass::kInput) {
      HLOSCOPE_ASSIGN_OR_RETURN(const std::optional<Error> plain, load(PlainModule(*module)));
      if (plain && plain->message == error.message) return std::unexpected(std::move(error));
    }
    RefusalSearch search(*module, load,
                         fallback_ == Fallback::kHost ? kLoadsToReplace : kLoadsToName);
    HLOSCOPE_TRY(search.Find(EntryOf(*module), error));
    if (search.found().empty()) {
      if (error.error_class == ErrorClass::kInput) return std::unexpected(std::move(error));
      const hlo::FallbackReason why =
          reason == hlo::FallbackReason::kNone ? hlo::FallbackReason::kCompileFailure : reason;
      return AllOnHost(std::move(module), options, why, std::move(error));
    }
    if (IsAnError(*module, search.found())) {
      return std::unexpected(Named(*module, search.found(), std::move(error)));
    }
    return SplitAround(std::move(module), options, search);
  }

  // A run that failed for an instruction that its error names.
  Result<std::unique_ptr<Executable>> ReplaceNamed(std::shared_ptr<const Module> module,
                                                   const RunOptions& options, Error error) const {
    const hlo::FallbackReason reason = ReasonInWords(error.message);
    if (reason == hlo::FallbackReason::kNone || IsUnpartitioned(*module, options)) {
      return std::unexpected(std::move(error));
    }
    Refusals refusals;
    std::vector<Refusal> all;
    for (const InstructionId id : NamedIn(*module, EntryOf(*module), error.message)) {
      const bool is_call = (*module)[id].opcode == hlo::Opcode::kCustomCall;
      if (reason == hlo::FallbackReason::kCustomCall && !is_call) continue;
      all.push_back(RefusalOf(id, error, (*module)[id]));
      refusals[id] = all.back();
    }
    if (all.empty()) return AllOnHost(std::move(module), options, reason, std::move(error));
    if (IsAnError(*module, all)) return std::unexpected(Named(*module, all, std::move(error)));
    HLOSCOPE_ASSIGN_OR_RETURN(auto host, make_host_());
    auto split = std::make_unique<SplitModule>(*module, std::move(refusals));
    if (auto failure = split->Load({*platform_, *host, options})) {
      return std::unexpected(std::move(failure->error));
    }
    return Assembled(std::move(module), std::move(host), std::move(split));
  }

  bool is_ours_on_a_device() const {
    const replay::PlatformRow* const row = replay::FindPlatform(name());
    return row != nullptr && row->Has(replay::kNeedsDriver);
  }
  Fallback fallback() const { return fallback_; }

 private:
  Result<std::unique_ptr<Executable>> Watched(std::shared_ptr<const Module> module,
                                              std::unique_ptr<Executable> whole);

  // Whether what is refused is named, and not left to the host.
  bool IsAnError(const Module& module, const std::vector<Refusal>& refused) const {
    if (fallback_ != Fallback::kCallbacks) return fallback_ != Fallback::kHost;
    return !std::ranges::all_of(
        refused, [&](const Refusal& it) { return IsCallback(module, it.instruction); });
  }

  // Parts of a module whose partitions XLA has yet to make would not be cut as the whole.
  static bool IsUnpartitioned(const Module& module, const RunOptions& options) {
    const hlo::Topology topology = hlo::TopologyOf(module, options.limits.devices);
    return topology.unpartitioned && topology.counts.partitions > 1;
  }

  Result<std::unique_ptr<Executable>> AllOnHost(std::shared_ptr<const Module> module,
                                                const RunOptions& options,
                                                hlo::FallbackReason reason, Error error) const {
    if (fallback_ != Fallback::kHost) {
      error.message =
          fmt::format("{}: {}", Describe(reason), hlo::WithoutReason(reason, error.message));
      error.hint += fmt::format("{}--fallback cpu runs the module on the host",
                                error.hint.empty() ? "" : "; ");
      return std::unexpected(std::move(error));
    }
    HLOSCOPE_ASSIGN_OR_RETURN(auto host, make_host_());
    HLOSCOPE_ASSIGN_OR_RETURN(auto on_host, host->Load(module, options));
    return std::make_unique<HostExecutable>(std::move(module), std::move(host), std::move(on_host),
                                            reason,
                                            std::string(hlo::WithoutReason(reason, error.message)));
  }

  // Parts may be refused where their instructions alone are not: then more is found in them.
  Result<std::unique_ptr<Executable>> SplitAround(std::shared_ptr<const Module> module,
                                                  const RunOptions& options,
                                                  RefusalSearch& search) const {
    HLOSCOPE_ASSIGN_OR_RETURN(auto host, make_host_());
    while (true) {
      Refusals refusals;
      for (const Refusal& refusal : search.found()) refusals[refusal.instruction] = refusal;
      const size_t known = refusals.size();
      auto split = std::make_unique<SplitModule>(*module, std::move(refusals));
      auto failure = split->Load({*platform_, *host, options});
      if (!failure) return Assembled(std::move(module), std::move(host), std::move(split));
      if (!failure->is_on_device || Ends(failure->error, options)) {
        return std::unexpected(std::move(failure->error));
      }
      HLOSCOPE_TRY(search.Find(failure->instructions, failure->error));
      if (search.found().size() == known) {
        return AllOnHost(std::move(module), options, hlo::FallbackReason::kCompileFailure,
                         std::move(failure->error));
      }
    }
  }

  std::unique_ptr<Executable> Assembled(std::shared_ptr<const Module> module,
                                        std::unique_ptr<replay::Platform> host,
                                        std::unique_ptr<SplitModule> split) const {
    return std::make_unique<SplitExecutable>(std::move(module), platform_, std::move(host),
                                             std::move(split));
  }

  std::shared_ptr<replay::Platform> platform_;
  MakeHost make_host_;
  Fallback fallback_;
  Now now_;
};

// A module that the platform loaded. What its run is refused for leads to another, once.
class WatchedExecutable : public Executable {
 public:
  WatchedExecutable(FallbackPlatform platform, std::shared_ptr<const Module> module,
                    std::unique_ptr<Executable> whole)
      : platform_(std::move(platform)), module_(std::move(module)), whole_(std::move(whole)) {}

  Result<RunResult> Run(std::span<const std::vector<hlo::Literal>> inputs,
                        const RunOptions& options, RunStream& stream) override {
    Result<RunResult> result = RunWatched(inputs, options, stream);
    const bool asked = platform_.fallback() != Fallback::kNone;
    if (result.has_value() || !asked || replaced_ || Ends(result.error(), options)) return result;
    if (was_handed_over_) return result;
    HLOSCOPE_ASSIGN_OR_RETURN(whole_, platform_.ReplaceNamed(module_, options, result.error()));
    replaced_ = true;
    return whole_->Run(inputs, options, stream);
  }
  std::optional<double> load_ms() const override { return whole_->load_ms(); }
  std::vector<replay::TraceSlice> TakeLoadSlices() override { return whole_->TakeLoadSlices(); }

 private:
  Result<RunResult> RunWatched(std::span<const std::vector<hlo::Literal>> inputs,
                               const RunOptions& options, RunStream& stream) {
    const bool may = platform_.fallback() == Fallback::kHost || !platform_.is_ours_on_a_device();
    if (may) return whole_->Run(inputs, options, stream);
    HostFallbackWatch watch(stream);
    HLOSCOPE_ASSIGN_OR_RETURN(RunResult result, whole_->Run(inputs, options, watch));
    const Status finished = watch.Finish();
    was_handed_over_ = !finished.has_value();
    HLOSCOPE_TRY(finished);
    return result;
  }

  FallbackPlatform platform_;
  std::shared_ptr<const Module> module_;
  std::unique_ptr<Executable> whole_;
  bool replaced_ = false, was_handed_over_ = false;
};

Result<std::unique_ptr<Executable>> FallbackPlatform::Watched(std::shared_ptr<const Module> module,
                                                              std::unique_ptr<Executable> whole) {
  if (fallback_ == Fallback::kNone && !is_ours_on_a_device()) return whole;
  return std::make_unique<WatchedExecutable>(*this, std::move(module), std::move(whole));
}

}  // namespace

std::unique_ptr<replay::Platform> WithFallback(std::unique_ptr<replay::Platform> platform,
                                               MakeHost make_host, Fallback fallback, Now now) {
  return std::make_unique<FallbackPlatform>(std::move(platform), std::move(make_host), fallback,
                                            std::move(now));
}

}  // namespace hloscope::debug
