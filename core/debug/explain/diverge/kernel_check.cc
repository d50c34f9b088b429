#include "core/debug/explain/diverge/kernel_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/backends/make_platform.h"
#include "core/debug/explain/diverge/operand_values.h"
#include "core/debug/run/extract.h"
#include "core/debug/run/isolate.h"
#include "core/eval/numbers/precise.h"
#include "core/hlo/analysis/single_precision.h"
#include "core/hlo/rewrite/module_copier.h"
#include "core/replay/workers/worker_platform.h"

namespace hloscope::debug {

using hlo::InstructionId;
using hlo::Literal;
using hlo::Module;
using replay::ValueKey;

namespace {

std::vector<ValueKey> LeafKeys(const Module& module, ValueKey key, InstructionId id) {
  key.instruction = id;
  std::vector<ValueKey> keys;
  for (key.leaf = 0; std::cmp_less(key.leaf, module.shape(id).LeafCount()); ++key.leaf) {
    keys.push_back(key);
  }
  return keys;
}

Result<std::vector<Literal>> ValuesOf(const RunReport& report) {
  if (report.error) return std::unexpected(*report.error);
  std::vector<Literal> values;
  for (const RunOutput& output : report.outputs) {
    if (output.missing) return std::unexpected(*output.missing);
    values.push_back(output.value);
  }
  return values;
}

Result<std::vector<Literal>> RunAlone(std::shared_ptr<const Module> module, const RunSpec& request,
                                      const std::string& platform,
                                      const std::vector<Literal>& arguments, std::stop_token stop) {
  return ValuesOf(
      RunModule(std::move(module), AloneSpec(request, platform, arguments), std::move(stop)));
}

// Sources of all leaves of some instructions where `key` stands, and the captured ones among them.
struct Sources {
  std::vector<ValueSource> all;
  std::vector<ValueKey> captured;
};
Result<Sources> SourcesOf(const Module& module, const ValueKey& key,
                          std::span<const InstructionId> ids) {
  Sources sources;
  for (const InstructionId id : ids) {
    for (ValueKey leaf : LeafKeys(module, key, id)) {
      HLOSCOPE_ASSIGN_OR_RETURN(ValueSource source, FindSource(module, std::move(leaf)));
      if (source.kind == ValueSource::Kind::kCaptured) sources.captured.push_back(source.key);
      sources.all.push_back(std::move(source));
    }
  }
  return sources;
}

// What one fusion or call stands for, as the entry of a module; null: it is neither.
std::shared_ptr<const Module> Inlined(const Module& module) {
  const hlo::Instruction& root = module[module.entry().root];
  const auto called = module.CalledComputations(root);
  const bool stands_for_one = called.size() == 1 && (root.opcode == hlo::Opcode::kFusion ||
                                                     root.opcode == hlo::Opcode::kCall);
  if (!stands_for_one) return nullptr;
  hlo::ModuleBuilder builder;
  hlo::ModuleCopier copier(module, builder);
  copier.CopyHeader();
  builder.header().name = builder.Intern(module.name());
  std::vector<InstructionId> ids;
  for (uint32_t i = 0; i < module[called[0]].instruction_count; ++i) {
    ids.push_back(InstructionId(module[called[0]].first_instruction + i));
  }
  copier.CopyCallees(ids);
  const hlo::ComputationId entry = builder.DeclareComputation(builder.Intern("inside"));
  builder.BeginComputation(entry);
  for (const InstructionId id : ids) {
    std::vector<InstructionId> operands;
    for (const InstructionId operand : module.operands(id)) {
      operands.push_back(copier.new_id(operand));
    }
    copier.CopyInstruction(id, operands);
  }
  builder.EndComputation(copier.new_id(module[called[0]].root));
  builder.SetEntry(entry);
  return builder.Build();
}

// Whether anything in it is computed in floats, which have a value in double precision.
bool HasFloats(const Module& module) {
  return std::ranges::any_of(module.instructions(), [&](const hlo::Instruction& instruction) {
    return std::ranges::any_of(module[instruction.shape].Leaves(), [](const auto& leaf) {
      const hlo::ElementType type = leaf.second->element_type();
      return leaf.second->IsArray() && (hlo::IsFloat(type) || hlo::IsComplex(type));
    });
  });
}

// The arguments in the order that the operands of the root give the called parameters.
std::vector<Literal> CalledArguments(const Module& module, const std::vector<Literal>& arguments) {
  std::vector<Literal> called;
  for (const InstructionId operand : module.operands(module.entry().root)) {
    const hlo::Instruction& from = module[operand];
    if (from.opcode == hlo::Opcode::kParameter) {
      const auto number = module.GetInt(from, hlo::AttributeKey::kParameterNumber);
      called.push_back(arguments[static_cast<size_t>(number)]);
    } else if (const auto* constant =
                   module.Get<Literal>(from, hlo::AttributeKey::kConstantValue)) {
      called.push_back(*constant);
    }
  }
  return called;
}

}  // namespace

bool KernelCheck::differs() const {
  return std::ranges::any_of(leaves, [](const LeafComparison& leaf) { return !leaf.equal(); });
}

Result<KernelCheck> CheckKernel(const Module& module, const ValueKey& key, ValueComparison& values,
                                const std::vector<std::vector<Literal>>& inputs,
                                const RunSpec& request, std::stop_token stop) {
  HLOSCOPE_ASSIGN_OR_RETURN(ExtractedModule alone,
                            ExtractModule(module, key.instruction, 0, Metadata::kStripped));
  if (alone.module->header().replica_count * alone.module->header().num_partitions > 1) {
    return UnsupportedError(
        fmt::format("{}: collectives are not run again alone", module.name(key.instruction)));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(Sources sources, SourcesOf(module, key, alone.parameters));
  const std::vector<ValueKey> own = LeafKeys(module, key, key.instruction);
  std::vector<ValueKey> wanted = sources.captured;
  wanted.insert(wanted.end(), own.begin(), own.end());
  HLOSCOPE_ASSIGN_OR_RETURN(const auto captured, values.PlatformValues(wanted));
  std::vector<Literal> leaves;
  for (const ValueSource& source : sources.all) {
    HLOSCOPE_ASSIGN_OR_RETURN(Literal leaf, ValueOf(module, source, inputs, captured));
    leaves.push_back(std::move(leaf));
  }
  KernelCheck check;
  size_t next = 0;
  for (const InstructionId parameter : alone.parameters) {
    auto whole = hlo::NestLeaves(module.shape(parameter), leaves, next);
    if (!whole) return InternalError("an operand is missing");
    check.arguments.push_back(*std::move(whole));
  }
  for (const ValueKey& leaf : own) check.value.push_back(captured.at(PointOf(module, leaf)));
  check.alone = std::move(alone.module);
  HLOSCOPE_ASSIGN_OR_RETURN(
      const std::vector<Literal> expected,
      RunAlone(check.alone, request, request.reference.name, check.arguments, std::move(stop)));
  const hlo::SinglePrecision single(*check.alone);
  for (size_t i = 0; i < std::min(expected.size(), check.value.size()); ++i) {
    const bool is_single = single.Of(check.alone->entry().root, i);
    check.leaves.push_back(
        CompareArrays(check.value[i], expected[i],
                      is_single ? BoundsOfSingle(request.compare.bounds) : request.compare.bounds));
  }
  return check;
}

Status MeasureDistances(const KernelCheck& check, const RunSpec& request, ValueWalk& walk,
                        std::stop_token stop) {
  if (!HasFloats(*check.alone)) return {};
  walk.asks_for_rounding = eval::AsksForRounding(*check.alone);
  const bool is_double = eval::ComputesInDouble(*check.alone);
  const std::string evaluator(replay::ReferencePlatform().name);
  HLOSCOPE_ASSIGN_OR_RETURN(
      const std::vector<Literal> precise,
      RunAlone(eval::WidenModule(*check.alone), request, evaluator, check.arguments, stop));
  HLOSCOPE_ASSIGN_OR_RETURN(
      const std::vector<Literal> reference,
      RunAlone(check.alone, request, request.reference.name, check.arguments, stop));
  const auto widen = [](std::optional<PreciseDistance>& worst, PreciseDistance distance) {
    const bool is_worse =
        !worst || distance.class_mismatched > worst->class_mismatched ||
        (distance.class_mismatched == worst->class_mismatched && distance.max_ulp > worst->max_ulp);
    if (is_worse) worst = std::move(distance);
  };
  for (size_t i = 0; i < std::min(precise.size(), check.value.size()); ++i) {
    if (!precise[i].shape().IsArray()) continue;
    widen(walk.platform_distance, DistanceToPrecise(check.value[i], precise[i]));
    if (!is_double) widen(walk.reference_distance, DistanceToPrecise(reference[i], precise[i]));
  }
  return {};
}

Result<InsideKernel> LookInside(const KernelCheck& check, const RunSpec& request,
                                std::stop_token stop) {
  InsideKernel inside;
  const std::shared_ptr<const Module> inlined = Inlined(*check.alone);
  if (inlined == nullptr) return inside;
  const std::vector<Literal> arguments = CalledArguments(*check.alone, check.arguments);
  HLOSCOPE_ASSIGN_OR_RETURN(const auto platform,
                            replay::MakePlatform(request.test.name, request.execution.workers));
  HLOSCOPE_ASSIGN_OR_RETURN(const auto reference, replay::MakePlatform(request.reference.name,
                                                                       request.execution.workers));
  IsolateRequest isolate;
  isolate.platform = platform.get();
  isolate.reference = reference.get();
  isolate.options = TestOptions(AloneSpec(request, request.test.name, {}));
  isolate.options.platform.run_passes = true;
  isolate.options.budget.stop = stop;
  isolate.reference_options = isolate.options;
  isolate.bounds = request.compare.bounds;
  Isolation isolation(*inlined, isolate);
  HLOSCOPE_TRY(isolation.Run(arguments, [&](const InstructionReport& report) {
    if (inside.first || !report.differs()) return;
    const auto leaf = std::ranges::find_if(
        report.outputs, [](const LeafComparison& each) { return !each.equal(); });
    inside.first = {report.instruction, report.opcode, *leaf};
  }));
  RunSpec together = AloneSpec(request, request.test.name, arguments);
  together.reference = request.reference;
  together.test.run_passes = true;
  const RunReport report = RunModule(inlined, together, std::move(stop));
  if (report.status == RunStatus::kEqual) inside.together_agree = true;
  if (report.status == RunStatus::kDiffers) inside.together_agree = false;
  if (report.error) inside.together = report.error->message;
  return inside;
}

}  // namespace hloscope::debug
