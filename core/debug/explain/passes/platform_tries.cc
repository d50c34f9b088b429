// Running with flags, and comparing with what is right.
#include "core/debug/explain/passes/platform_tries.h"

#include <algorithm>
#include <chrono>

#include "core/analysis/denormals.h"
#include "core/base/jobs.h"
#include "core/debug/explain/passes/meaning.h"
#include "core/debug/reduce/edit.h"
#include "core/replay/run_targets.h"

namespace hloscope::debug {
namespace {

constexpr int kAgreeing = 3;  // runs; one may be right by chance
constexpr BoundsRequest kExactly{0, 0};

struct TryRow {
  Cause cause;
  std::string_view flags;
};
// In the order in which a cause is believed: the first that closes the gap names it. What an XLA
// does not know is left out.
constexpr TryRow kTries[] = {
    {Cause::kExcessPrecision, "xla_allow_excess_precision=false"},
    {Cause::kFastMath, "xla_cpu_enable_fast_min_max=false"},
    {Cause::kFastMath, "xla_cpu_enable_fast_math=false"},
    {Cause::kFastMath, "xla_gpu_enable_fast_min_max=false"},
    {Cause::kLibrary, "xla_disable_hlo_passes=dot-library-rewriter"},
    {Cause::kLibrary, "xla_disable_hlo_passes=library-rewriter"},
    {Cause::kLibrary, "xla_cpu_use_onednn=false"},
    {Cause::kLibrary, "xla_cpu_use_xnnpack=false"},
    {Cause::kReductionOrder, "xla_disable_hlo_passes=tree_reduction_rewriter"},
    {Cause::kApproximation, "xla_cpu_enable_platform_dependent_math=false"},
    {Cause::kCodeGeneration, "xla_cpu_max_isa=AVX2"},
    {Cause::kFma, "xla_cpu_max_isa=AVX"},
    {Cause::kCodeGeneration, "xla_backend_optimization_level=0"},
    {Cause::kCodeGeneration, "xla_cpu_disable_new_fusion_emitters=true"},
    {Cause::kCodeGeneration, "xla_cpu_prefer_vector_width=128"},
};

Leaves Flushed(const Leaves& leaves) {
  Leaves flushed;
  for (const Result<hlo::Literal>& leaf : leaves) {
    if (leaf.has_value() && leaf->shape().IsArray()) {
      flushed.push_back(analysis::FlushDenormals(*leaf));
    } else {
      flushed.push_back(leaf);
    }
  }
  return flushed;
}

}  // namespace

std::vector<KnownTry> KnownTries(std::string_view platform) {
  std::vector<KnownTry> tries;
  if (replay::IsOwnCompiler(platform)) return tries;  // the rows are of XLA
  for (const TryRow& row : kTries) {
    const size_t equals = row.flags.find('=');
    tries.push_back(
        {row.cause,
         {{std::string(row.flags.substr(0, equals)), std::string(row.flags.substr(equals + 1))}}});
  }
  return tries;
}

std::string FlagsText(const XlaFlagList& flags) {
  std::string text;
  for (const auto& [name, value] : flags) {
    text += (text.empty() ? "--" : " --") + name + "=" + value;
  }
  return text;
}

void AddFlags(const XlaFlagList& flags, XlaFlagList& to) {
  for (auto [name, value] : flags) {
    const auto before = std::ranges::find(to, name, &XlaFlagList::value_type::first);
    const bool is_list =
        name == replay::kDisablePassesFlag && before != to.end() && !before->second.empty();
    if (is_list) value = before->second + "," + value;
    std::erase_if(to, [&](const auto& flag) { return flag.first == name; });
    to.emplace_back(name, std::move(value));
  }
}

PlatformTries::PlatformTries(std::shared_ptr<const hlo::Module> module, const RunSpec& request,
                             const StageValues& values, Leaves expected, std::stop_token stop)
    : module_(std::move(module)),
      given_(values),
      request_(values.request()),
      expected_(std::move(expected)),
      stop_(std::move(stop)) {
  request_.test = request.test;
}

Result<std::optional<LeafComparison>> PlatformTries::AsItIs() {
  constexpr double kMinSeconds = 10, kTimes = 4;
  const auto start = std::chrono::steady_clock::now();
  HLOSCOPE_ASSIGN_OR_RETURN(const Leaves leaves, LeavesOf(RunModule(module_, request_, stop_)));
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  const double most = std::max(kMinSeconds, kTimes * taken.count());
  request_.budget.seconds = std::min(request_.budget.seconds.value_or(most), most);
  first_ = leaves;
  const auto worst = WorstDifference(leaves, expected_, request_.compare.bounds);
  if (worst) CutToDiffering(leaves);
  return worst;
}

// What reads memory that nobody wrote differs now and then.
Leaves PlatformTries::RunThatDiffers(const std::shared_ptr<const hlo::Module>& module,
                                     const RunSpec& request, const Leaves& expected) const {
  for (int run = 0; run < kAgreeing; ++run) {
    auto leaves = LeavesOf(RunModule(module, request, stop_));
    if (!leaves) break;
    if (WorstDifference(*leaves, expected, request.compare.bounds)) return *std::move(leaves);
  }
  return {};
}

void PlatformTries::CutToDiffering(const Leaves& leaves) {
  const hlo::Instruction& root = (*module_)[module_->entry().root];
  const hlo::ModuleHeader& header = module_->header();
  if (root.opcode != hlo::Opcode::kTuple || header.replica_count * header.num_partitions != 1)
    return;
  std::vector<hlo::InstructionId> kept;
  Leaves expected;
  size_t first = 0;
  for (const hlo::InstructionId id : module_->operands(root)) {
    const size_t last = first + module_->shape(id).LeafCount();
    if (last > std::min(leaves.size(), expected_.size())) return;
    const Leaves own(expected_.begin() + static_cast<ptrdiff_t>(first),
                     expected_.begin() + static_cast<ptrdiff_t>(last));
    if (WorstDifference({leaves.begin() + static_cast<ptrdiff_t>(first),
                         leaves.begin() + static_cast<ptrdiff_t>(last)},
                        own, request_.compare.bounds)) {
      kept.push_back(id);
      expected.insert(expected.end(), own.begin(), own.end());
    }
    first = last;
  }
  const Candidate whole{module_, request_.inputs.arguments};
  Edit edit(whole);
  edit.SetResults(kept);
  const std::optional<Candidate> cut = edit.Finish();
  const bool all_known = std::ranges::all_of(
      expected_, [](const Result<hlo::Literal>& leaf) { return leaf.has_value(); });
  if (!cut ||
      (all_known && cut->module->instructions().size() > module_->instructions().size() / 2))
    return;
  RunSpec request = request_;
  request.inputs.arguments = cut->arguments;
  Leaves differing = RunThatDiffers(cut->module, request, expected);
  if (differing.empty()) return;
  first_ = std::move(differing);
  module_ = cut->module;
  values_ = given_.On(cut->arguments);
  request_ = std::move(request);
  expected_ = std::move(expected);
}

Result<bool> PlatformTries::DiffersFromItself(int64_t runs) const {
  RunSpec request = request_;
  request.repeats.runs = runs;
  request.compare.same_bits = true;
  const RunReport report = RunModule(module_, request, stop_);
  if (!report.repeat) {
    return std::unexpected(
        report.error.value_or(Error{ErrorClass::kInternal, "the run was not repeated", {}, {}}));
  }
  if (report.repeat->differing_run) return true;
  const auto again = LeavesOf(report);
  return again && !first_.empty() && WorstDifference(*again, first_, kExactly).has_value();
}

DivergeTry PlatformTries::FlushingDenormals() const {
  DivergeTry attempt{"--denormals=flush", {}, ""};
  const auto leaves = LeavesOf(RunModule(module_, request_, stop_));
  if (!leaves) {
    attempt.detail = leaves.error().message;
    return attempt;
  }
  const auto worst = WorstDifference(Flushed(*leaves), Flushed(expected_), request_.compare.bounds);
  attempt.closes = !worst;
  if (worst) attempt.detail = ErrorPhrase(*worst);
  return attempt;
}

DivergeTry PlatformTries::With(const XlaFlagList& flags) const {
  RunSpec request = request_;
  AddFlags(flags, request.test.xla_flags);
  DivergeTry attempt{FlagsText(flags), {}, ""};
  for (int run = 0; run < kAgreeing && attempt.closes.value_or(true); ++run) {
    const auto leaves = LeavesOf(RunModule(module_, request, stop_));
    if (!leaves) {
      attempt.closes.reset();
      attempt.detail = leaves.error().message.substr(0, 200);
      return attempt;
    }
    const auto worst = WorstDifference(*leaves, expected_, request_.compare.bounds);
    attempt.closes = !worst;
    attempt.mismatched = MismatchedElements(*leaves, expected_, request_.compare.bounds);
    if (worst) attempt.detail = ErrorPhrase(*worst);
  }
  if (attempt.closes == true && AgreesAsItIs()) {
    attempt.closes = false;
    attempt.detail = "the same run without it agrees now, too";
  }
  return attempt;
}

// The control of a try.
bool PlatformTries::AgreesAsItIs() const {
  const auto leaves = LeavesOf(RunModule(module_, request_, stop_));
  return leaves && !WorstDifference(*leaves, expected_, request_.compare.bounds);
}

std::vector<DivergeTry> PlatformTries::Run(std::span<const XlaFlagList> tries) const {
  std::vector<DivergeTry> results(tries.size());
  const Status done = ParallelFor(
      static_cast<int64_t>(tries.size()), AvailableCpus(),
      [&](int64_t i) { results[static_cast<size_t>(i)] = With(tries[static_cast<size_t>(i)]); },
      stop_);
  if (!done) {
    for (DivergeTry& attempt : results) {
      if (attempt.what.empty()) attempt.detail = done.error().message;
    }
  }
  return results;
}

}  // namespace hloscope::debug
