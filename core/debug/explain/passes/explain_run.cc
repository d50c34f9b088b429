#include "core/debug/explain/passes/explain_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/backends/pjrt/api.h"
#include "core/base/counted.h"
#include "core/debug/explain/diverge/computed_by.h"
#include "core/debug/explain/diverge/diverge_alone.h"
#include "core/debug/explain/diverge/lone_kernels.h"
#include "core/debug/explain/diverge/open_meaning.h"
#include "core/debug/explain/diverge/optimised_module.h"
#include "core/debug/explain/diverge/other_rounding.h"
#include "core/debug/explain/kernels/explain_program.h"
#include "core/debug/explain/passes/computed_functions.h"
#include "core/debug/explain/passes/confirm.h"
#include "core/debug/explain/passes/find_pass.h"
#include "core/debug/explain/passes/meaning.h"
#include "core/debug/explain/passes/second_finding.h"
#include "core/hlo/analysis/find_instruction.h"
#include "core/replay/platform_table.h"
#include "core/replay/run_targets.h"

namespace hloscope::debug {
namespace {

using hlo::Module;

constexpr size_t kMaxPasses = 24;  // that are switched off one by one

// What XLA's CPU kernels are known to read or write out of range. Measured on 0.11.2;
// tests/conformance/xla_faults_in_modules.md has modules.
struct Hazard {
  hlo::ElementType type;
  std::string_view text;
};
constexpr Hazard kHazards[] = {
    {hlo::ElementType::kS1,
     "XLA:CPU computes s1 arrays with a byte for each element, but their buffers hold a bit for "
     "each: it reads and writes beyond them"},
    {hlo::ElementType::kU1,
     "XLA:CPU computes u1 arrays with a byte for each element, but their buffers hold a bit for "
     "each: it reads and writes beyond them"},
};

// Of an array that something computes or takes; null: of none.
const Hazard* HazardOf(const Module& module) {
  for (const hlo::Instruction& instruction : module.instructions()) {
    for (const auto& leaf : module[instruction.shape].Leaves()) {
      const auto found = std::ranges::find(kHazards, leaf.second->element_type(), &Hazard::type);
      if (found != std::end(kHazards)) return found;
    }
  }
  return nullptr;
}

// Passes that can be switched off: those after which the module is another one, each once.
std::vector<std::string> ChangingPasses(const Pipeline& pipeline) {
  std::vector<std::string> passes;
  for (size_t s = 1; s < pipeline.stages.size(); ++s) {
    const PassStage& stage = pipeline.stages[s];
    if (stage.pipeline.empty() || stage.pass == "pipeline-start") continue;
    if (std::ranges::find(passes, stage.pass) != passes.end()) continue;
    if (HasSameText(*pipeline.stages[s - 1].module, *stage.module)) continue;
    passes.push_back(stage.pass);
  }
  return passes;
}

class Explainer {
 public:
  Explainer(DivergeVerdict& verdict, PlatformTries& tries, const StageValues& values,
            const Pipeline& pipeline, const std::stop_token& stop, std::string_view opcode)
      : verdict_(verdict),
        tries_(tries),
        values_(values),
        pipeline_(pipeline),
        stop_(stop),
        opcode_(hlo::OpcodeFromText(opcode)) {}

  void Run() {
    verdict_.platform = tries_.request().test.name;
    const auto differs = tries_.AsItIs();
    if (!differs) {
      verdict_.errors.push_back(differs.error());
      verdict_.warnings.push_back("the module does not run on " + verdict_.platform);
      if (IsExecutionFailure(differs.error().error_class) && verdict_.passes.empty()) {
        verdict_.status = RunStatus::kDied;
        if (NoteHazard()) verdict_.cause = Cause::kUninitialised;
      } else if (verdict_.status == RunStatus::kEqual) {
        verdict_.status = StatusOf(differs.error());
      }
    } else if (*differs) {
      verdict_.tries.push_back({verdict_.platform + " as it is", false, ErrorPhrase(**differs),
                                MismatchedElements(tries_.actual(), tries_.expected(),
                                                   tries_.request().compare.bounds)});
      verdict_.status = RunStatus::kDiffers;
      if (!verdict_.worst) verdict_.worst = **differs;
      if (tries_.is_cut()) {
        verdict_.warnings.push_back(
            fmt::format("tries and kernel are of the {}, of {}, that the results that differ need",
                        Counted(tries_.module()->instructions().size(), "instruction"),
                        pipeline_.stages.front().module->instructions().size()));
      }
      if (verdict_.cause == Cause::kConversion) {
        ConfirmFrontEnd(verdict_, tries_, pipeline_, stop_);
      } else {
        TryAll();
        if (verdict_.passes.empty()) FindCause(**differs);
      }
    } else {
      verdict_.tries.push_back({verdict_.platform + " as it is", true, ""});
      JudgeUndecided();
    }
    if (!verdict_.passes.empty()) ConfirmPass(verdict_, tries_, values_, pipeline_, stop_);
    WriteSentence(verdict_);
  }

 private:
  // What all passes together make of the module is right.
  void JudgeUndecided() {
    if (verdict_.status != RunStatus::kUnsupported || verdict_.undecided == 0) return;
    verdict_.status = RunStatus::kEqual;
    verdict_.errors.clear();
  }

  // The guilty passes first.
  std::vector<std::string> Suspects() const {
    std::vector<std::string> passes;
    for (const PassBlame& blame : verdict_.passes) {
      if (std::ranges::find(passes, blame.pass) == passes.end()) passes.push_back(blame.pass);
    }
    for (const std::string& pass : ChangingPasses(pipeline_)) {
      if (passes.size() >= kMaxPasses) break;
      if (std::ranges::find(passes, pass) == passes.end()) passes.push_back(pass);
    }
    return passes;
  }

  // Passes one by one, and the known flags; a flag that is such a pass is not tried twice.
  void TryAll() {
    const std::vector<std::string> passes = Suspects();
    std::vector<KnownTry> tries;
    for (const std::string& pass : passes) {
      tries.push_back({Cause::kCodeGeneration, {{std::string(replay::kDisablePassesFlag), pass}}});
    }
    for (KnownTry& known : KnownTries(verdict_.platform)) {
      const auto same = std::ranges::find(tries, known.flags, &KnownTry::flags);
      if (same == tries.end()) {
        tries.push_back(std::move(known));
      } else {
        same->cause = known.cause;
      }
    }
    std::vector<XlaFlagList> flags;
    for (const KnownTry& each : tries) flags.push_back(each.flags);
    const std::vector<DivergeTry> done = tries_.Run(flags);
    for (size_t i = 0; i < done.size(); ++i) {
      if (done[i].detail.find(replay::pjrt::kUnknownFlag) != std::string::npos) continue;
      verdict_.tries.push_back(done[i]);
      if (done[i].closes != true) continue;
      const auto& [name, value] = tries[i].flags.front();
      verdict_.cured_by.push_back(name == replay::kDisablePassesFlag ? value : done[i].what);
      NoteCause(tries[i].cause);
    }
  }

  // What names a cause more closely than that the code is wrong goes first.
  void NoteCause(Cause cause) {
    if (!closing_ || closing_ == Cause::kCodeGeneration) closing_ = cause;
  }

  // A cause, whether it is believed, and whether a try shows it: it closes the gap, or the kernel
  // repeats the fault alone.
  struct Belief {
    bool holds;
    Cause cause;
    bool is_tried;
  };

  // The first that holds.
  void FindCause(const LeafComparison& worst) {
    if (DrawsOf(*tries_.module()) > 0) {
      verdict_.cause = Cause::kRandomNumbers;
      return;
    }
    const DivergeTry flushed = tries_.FlushingDenormals();
    verdict_.tries.push_back(flushed);
    const auto changes = tries_.DiffersFromItself(3);
    if (changes) {
      verdict_.tries.push_back({"the same again, bit for bit", *changes,
                                *changes ? "repeated runs differ" : "repeated runs agree"});
    }
    const bool varies = changes && *changes;
    const std::optional<Cause> switched = TrySwitches();
    const bool moves = IsIllConditioned();
    FindPlace();
    FindKernel();
    const bool contracted = IsContracted();
    const bool reordered = !contracted && MovesWithOrder();
    const bool hazard = NoteHazard();
    const bool is_flag = closing_ && closing_ != Cause::kCodeGeneration;
    const bool may_contract = closing_ && multiplies_and_adds_ && IsSmall(worst);
    const bool repeats = closing_ || !verdict_.kernel.empty();  // alone too
    const Belief beliefs[] = {
        {hazard || varies, Cause::kUninitialised, varies || closing_},
        {flushed.closes == true, Cause::kDenormals, true},
        {switched.has_value(), switched.value_or(Cause::kUnexplained), true},
        {is_flag, closing_.value_or(Cause::kUnexplained), true},
        {contracted || may_contract, Cause::kFma, contracted},
        {IsApproximation(moves), Cause::kApproximation, reference_is_nearer_},
        {reordered, Cause::kReductionOrder, true},
        {open_.has_value(), open_.value_or(OpenCause()).cause,
         open_.value_or(OpenCause()).is_shown},
        {moves, Cause::kIllConditioned, true},
        {is_library_, Cause::kLibrary, repeats},
        // Every stage means the right thing.
        {closing_ || verdict_.stepped_over.empty(), Cause::kCodeGeneration, repeats},
        {true, Cause::kUnexplained, false},
    };
    const Belief& belief = *std::ranges::find(beliefs, true, &Belief::holds);
    verdict_.cause = belief.cause;
    if (belief.is_tried) verdict_.confirmed = true;
  }

  // Says which access out of range the module has that is known of its platform.
  bool NoteHazard() {
    const replay::PlatformRow* row = replay::FindPlatform(verdict_.platform);
    if (row == nullptr || row->devices != replay::Devices::kHost) return false;
    const Hazard* hazard = HazardOf(*tries_.module());
    if (hazard != nullptr) verdict_.warnings.emplace_back(hazard->text);
    return hazard != nullptr;
  }

  // On a simulated GPU: arithmetic of its kernels done otherwise.
  std::optional<Cause> TrySwitches() {
    const replay::PlatformRow* const row = replay::FindPlatform(verdict_.platform);
    if (row == nullptr || !row->Has(replay::kSimulatesGpu)) return std::nullopt;
    const RunSpec& request = tries_.request();
    auto explained = ExplainBySwitches(tries_.module(), request, tries_.actual(), tries_.expected(),
                                       request.inputs.arguments, stop_);
    if (!explained.has_value()) {
      verdict_.warnings.push_back("no arithmetic of the kernels was switched: " +
                                  explained.error().message);
      return std::nullopt;
    }
    verdict_.tries.insert(verdict_.tries.end(), explained->tries.begin(), explained->tries.end());
    return explained->cause;
  }

  bool IsIllConditioned() {
    verdict_.tries.push_back(
        tries_.values().TryConditioning(tries_.module(), tries_.actual(), tries_.expected()));
    return verdict_.tries.back().closes == true;
  }

  // What the reference makes of another form of the module; nullopt where there is none, and where
  // it cannot be evaluated, which is noted.
  std::optional<Leaves> ResultsOf(const std::string& what,
                                  const Result<std::shared_ptr<const Module>>& module) {
    if (module.has_value() && *module == nullptr) return std::nullopt;
    const Result<Leaves> results =
        module.has_value() ? tries_.values().Plain(*module) : std::unexpected(module.error());
    if (results) return *results;
    verdict_.tries.push_back(DivergeTry{what, {}, results.error().message.substr(0, 200)});
    return std::nullopt;
  }

  // How the platform's results differ from those of the reference done otherwise.
  std::optional<LeafComparison> DifferFrom(const Leaves& results) const {
    return WorstDifference(tries_.actual(), results, values_.request().compare.bounds);
  }

  // The reference that adds up in another order gives the platform's results, or moves by about as
  // much as the two differ.
  bool MovesWithOrder() {
    const Gaps gaps(tries_.actual(), tries_.expected(), values_.request().compare.bounds);
    for (const auto& [what, module] : {std::pair("sums taken in blocks", &SumsInBlocks),
                                       std::pair("sums taken in a tree", &SumsInTree)}) {
      const std::string on_reference = fmt::format("{}, on the reference", what);
      const auto moved = ResultsOf(on_reference, module(tries_.module()));
      if (!moved) continue;
      const auto left = DifferFrom(*moved);
      const bool explains = !left || MovesByAsMuch(gaps, *moved, tries_.expected());
      verdict_.tries.push_back(
          {on_reference, explains,
           fmt::format("moves by {:.3g} on average, {:.3g} to explain",
                       gaps.MeanSquareIn(*moved, tries_.expected()), gaps.mean_square())});
      if (explains) return true;
    }
    return false;
  }

  // The reference gives the platform's results where it rounds as FMA does, and does not where the
  // compiled module runs as it is.
  bool IsContracted() {
    const auto compiled = CompiledModule();
    if (!compiled) return false;
    const std::string what = "products rounded with the sums, on the reference";
    const auto results = ResultsOf(what, ProductsContracted(compiled));
    if (!results) return false;
    auto differ = DifferFrom(*results);
    const auto control = differ ? std::nullopt : ResultsOf(what, compiled);
    const bool needs_it = !differ && control && DifferFrom(*control);
    verdict_.tries.push_back({what, needs_it,
                              differ     ? ErrorPhrase(*differ)
                              : needs_it ? ""
                                         : "the compiled module agrees without that, too"});
    return needs_it;
  }

  // A function that is some ULP off; how far each side is from the value in double precision is
  // told with it. Where inputs that move by one ULP move the results as much, only if the reference
  // is nearer.
  bool IsApproximation(bool moves) {
    if (!is_approximation_) return false;
    RunSpec request = tries_.request();
    request.reference.name = values_.request().test.name;
    request.compare.precise = true;
    const RunReport report = RunModule(tries_.module(), request, stop_);
    for (const RunOutput& output : report.outputs) {
      if (output.comparison.equal() || output.precise.size() != 2) continue;
      const PreciseDistance& actual = output.precise[0].distance;
      const PreciseDistance& expected = output.precise[1].distance;
      reference_is_nearer_ = actual.max_ulp > expected.max_ulp;
      verdict_.tries.push_back(DivergeTry{
          "the reference is nearer to the value in double precision", reference_is_nearer_,
          fmt::format("{} is at most {:.3g} ULP from it, {} {:.3g}", verdict_.platform,
                      actual.max_ulp, request.reference.name, expected.max_ulp)});
      break;
    }
    return reference_is_nearer_ || !moves;
  }

  // Instructions one by one: the first that differs by itself.
  void FindPlace() {
    RunSpec request = tries_.request();
    request.reference.name = values_.request().test.name;
    request.compare.isolate = true;
    const RunReport report = RunModule(tries_.module(), request, stop_);
    const auto& first = report.first_divergent;
    if (!first) return;
    verdict_.place = {first->instruction, first->computation, "", first->opcode};
    for (const LeafComparison& leaf : first->outputs) {
      if (leaf.equal()) continue;
      verdict_.worst = leaf;
      verdict_.worst_is_of_place = true;
    }
    const Module& module = *tries_.module();
    const hlo::InstructionId id = hlo::FindInstruction(module, first->instruction);
    const bool may_be_function = id.valid() && MayComputeFunction(module, id, opcode_);
    is_approximation_ = may_be_function && verdict_.worst && IsSmall(*verdict_.worst);
  }

  // More is no approximation but wrong.
  static bool IsSmall(const LeafComparison& leaf) {
    constexpr double kMax = 1e-2;
    return leaf.nan_mismatched + leaf.inf_mismatched == 0 && leaf.max_rel_error <= kMax;
  }

  // What the module of the tries was compiled to; null where that fails.
  std::shared_ptr<const Module> CompiledModule() const {
    if (!tries_.is_cut()) return pipeline_.stages.back().module;
    const auto own = CompilePipeline(tries_.module(), tries_.request(), stop_);
    return own && !own->failed ? own->pipeline.stages.back().module : nullptr;
  }

  std::string FirstKernel(const std::shared_ptr<const Module>& compiled) {
    RunSpec request = tries_.request();
    request.reference.name = values_.request().test.name;
    if (RunsKernelsAlone(request)) {
      const auto alone =
          RunKernelsAlone(compiled, LeafArguments(request.inputs.arguments), {}, request, stop_);
      if (!alone || alone->kernels.empty()) return {};
      verdict_.warnings.push_back(alone->walk.bits);
      return alone->kernels.front().place.instruction;
    }
    request.compare.isolate = true;
    request.test.run_passes = request.reference.run_passes = false;
    const RunReport report = RunModule(compiled, request, stop_);
    return report.first_divergent ? report.first_divergent->instruction : "";
  }

  // The same of the module that was compiled to code, without its passes.
  void FindKernel() {
    const std::shared_ptr<const Module> compiled = CompiledModule();
    if (!compiled) return;
    verdict_.kernel = FirstKernel(compiled);
    if (verdict_.kernel.empty()) return;
    const hlo::InstructionId id = hlo::FindInstruction(*compiled, verdict_.kernel);
    if (!id.valid()) return;
    const hlo::Instruction& instruction = (*compiled)[id];
    verdict_.kernel_opcode = hlo::ToString(instruction.opcode);
    constexpr int64_t kCustom = static_cast<int64_t>(hlo::FusionKind::kCustom);
    const bool is_custom =
        instruction.opcode == hlo::Opcode::kFusion &&
        compiled->GetInt(instruction, hlo::AttributeKey::kFusionKind, -1) == kCustom;
    multiplies_and_adds_ = MultipliesAndAdds(*compiled, id);
    open_ = OpenOrder({compiled, LeafArguments(tries_.request().inputs.arguments)}, {&id, 1},
                      tries_.request(), stop_, ActualLeaves());
    is_library_ =
        is_custom || instruction.opcode == hlo::Opcode::kCustomCall || IsOfLibrary(*compiled, id);
  }

  // Our own compiler writes code for most of what XLA leaves to libraries; who computes a Fourier
  // transform of its, a run tells.
  bool IsOfLibrary(const Module& compiled, hlo::InstructionId id) const {
    const std::string& platform = verdict_.platform;
    std::optional<replay::RunExecuted> executed;
    if (replay::IsOwnCompiler(platform)) {
      if (compiled[id].opcode != hlo::Opcode::kFft) return false;
      executed = RunModule(tries_.module(), tries_.request(), stop_).executed;
    }
    return ComputedBy(compiled, id, platform, executed) == Cause::kLibrary;
  }

  // Of the first run that differed; empty where one is missing.
  std::vector<hlo::Literal> ActualLeaves() const {
    std::vector<hlo::Literal> leaves;
    for (const auto& leaf : tries_.actual()) {
      if (!leaf) return {};
      leaves.push_back(*leaf);
    }
    return leaves;
  }

  // A product is added up inside of it, which code generation may round once.
  static bool MultipliesAndAdds(const Module& module, hlo::InstructionId id) {
    for (const hlo::ComputationId callee : module.CalledComputations(module[id])) {
      for (const hlo::Instruction& sum : module.instructions(module[callee])) {
        if (sum.opcode != hlo::Opcode::kAdd && sum.opcode != hlo::Opcode::kSubtract) continue;
        for (const hlo::InstructionId operand : module.operands(sum)) {
          if (module[operand].opcode == hlo::Opcode::kMultiply) return true;
        }
      }
    }
    return false;
  }

  DivergeVerdict& verdict_;
  PlatformTries& tries_;
  const StageValues& values_;
  const Pipeline& pipeline_;
  const std::stop_token& stop_;
  std::optional<hlo::Opcode> opcode_;  // of what differs on its own operands
  std::optional<Cause> closing_;       // of the first known try that closes the gap
  bool multiplies_and_adds_ = false, is_approximation_ = false;
  bool reference_is_nearer_ = false;  // to the value in double precision
  bool is_library_ = false;           // what differs in the code is a library's
  std::optional<OpenCause> open_;     // an order of the kernel that HLO leaves open
};

}  // namespace

void ExplainRun(DivergeVerdict& verdict, PlatformTries& tries, const StageValues& values,
                const Pipeline& pipeline, const std::stop_token& stop, std::string_view opcode) {
  Explainer(verdict, tries, values, pipeline, stop, opcode).Run();
  FindSecondFinding(verdict, tries, stop);
}

}  // namespace hloscope::debug
