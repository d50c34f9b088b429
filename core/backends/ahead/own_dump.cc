// Files as XLA names them.
#include "core/backends/ahead/own_dump.h"

#include <fmt/format.h>

#include <utility>

#include "core/base/file.h"
#include "core/compile/dump/dump_texts.h"
#include "core/dump/instruction_lookup.h"
#include "core/hlo/proto/proto.h"
#include "core/hlo/rewrite/copy_module.h"
#include "core/hlo/sharding/topology.h"
#include "core/hlo/text/text.h"

namespace hloscope::replay {
namespace {

// XLA's pipeline of its last passes; ours has one.
constexpr std::string_view kPipeline = "optimization";
constexpr std::string_view kFirst = "before_optimizations";
constexpr std::string_view kFinal = "cpu_after_optimizations";

class DumpFiles {
 public:
  DumpFiles(std::string folder, std::string_view module)
      : folder_(std::move(folder)), name_(dump::SanitizedName(module)) {}

  Status Write(const std::string& what, std::string_view bytes) {
    ++count_;
    return WriteFileAtomically(fmt::format("{}/module_0000.{}.{}", folder_, name_, what), bytes);
  }
  Status Write(std::shared_ptr<const hlo::Module> module, const std::string& point) {
    std::string text;
    hlo::PrintText(*module, hlo::TextFormat::kHlo, text);
    HLOSCOPE_TRY(Write(point + ".txt", text));
    hlo::ProtoFile file;
    file.kind = hlo::ProtoKind::kHlo;
    file.module = std::move(module);
    return Write(point + ".hlo.pb", hlo::HloToProto(file));
  }

  int64_t count() const { return count_; }

 private:
  const std::string folder_, name_;
  int64_t count_ = 0;
};

std::string StageName(const compile::Compilation& compiled, size_t k) {
  const std::string next =
      k + 1 < compiled.stages.size() ? compiled.stages[k + 1].pass : "pipeline-end";
  return fmt::format("{:04}.{}.after_{}.before_{}", k + 1, kPipeline, compiled.stages[k].pass,
                     next);
}

// What the decisions of fusion are about.
std::string StageBeforeFusion(const compile::Compilation& compiled) {
  for (size_t k = 0; k < compiled.stages.size(); ++k) {
    if (compiled.stages[k].module == compiled.before_fusion) return StageName(compiled, k);
  }
  return std::string(kFirst);
}

// It is in the order of execution, which is what XLA's mark says; but a module of several devices
// that bears it counts as partitioned.
std::shared_ptr<const hlo::Module> Marked(const std::shared_ptr<const hlo::Module>& module) {
  if (hlo::TopologyOf(*module, Limits().devices).unpartitioned) return module;
  hlo::ModuleBuilder builder = hlo::CopyModule(*module);
  builder.header().is_scheduled = true;
  return builder.Build();
}

// Each instruction from itself.
std::vector<hlo::Origin> Unchanged(const hlo::Module& module) {
  std::vector<hlo::Origin> origins;
  for (uint32_t k = 0; k < module.instructions().size(); ++k) {
    origins.push_back({hlo::InstructionId(k), hlo::InstructionId(k), hlo::OriginKind::kSame});
  }
  return origins;
}

// The modules with where their instructions come from, through passes whose modules are left out.
Status WriteModules(DumpFiles& files, const std::shared_ptr<const hlo::Module>& before,
                    const compile::Compilation& compiled, bool passes) {
  HLOSCOPE_TRY(files.Write(before, std::string(kFirst)));
  std::vector<compile::StageOrigins> noted;
  compile::StageOrigins next;
  const auto begin_next = [&](const std::shared_ptr<const hlo::Module>& module, std::string stage) {
    next = compile::StageOrigins();
    next.before = std::move(stage);
    next.before_module = module;
    next.origins = Unchanged(*module);
  };
  const auto end_next = [&](const std::shared_ptr<const hlo::Module>& module, std::string stage) {
    next.after = std::move(stage);
    next.after_module = module;
    noted.push_back(std::move(next));
  };
  begin_next(before, std::string(kFirst));
  for (size_t k = 0; k < compiled.stages.size(); ++k) {
    const auto& module = compiled.stages[k].module;
    next.origins = hlo::ComposeOrigins(next.origins, compiled.stages[k].origins);
    if (!passes && module != compiled.before_fusion) continue;
    HLOSCOPE_TRY(files.Write(module, StageName(compiled, k)));
    end_next(module, StageName(compiled, k));
    begin_next(module, StageName(compiled, k));
  }
  end_next(compiled.module, std::string(kFinal));
  HLOSCOPE_TRY(files.Write(Marked(compiled.module), std::string(kFinal)));
  return files.Write("provenance.txt", compile::ProvenanceText(before->name(), noted));
}

// XLA's flags have no part in it.
std::string OptionsText(const compile::Compilation& compiled) {
  std::string text = "# hloscope's own compiler, platform cpu; its passes in order\n";
  for (const compile::PassTime& time : compiled.times) text += fmt::format("# {}\n", time.pass);
  return text;
}

Status WritePlan(DumpFiles& files, const compile::Compilation& compiled, const CodeTexts& code) {
  HLOSCOPE_TRY(files.Write("fusion_decisions.txt",
                           compile::DecisionText(compiled, StageBeforeFusion(compiled))));
  if (compiled.plan == nullptr) return {};
  const compile::Plan& plan = *compiled.plan;
  const std::string memory(kFinal);
  HLOSCOPE_TRY(files.Write(memory + "-buffer-assignment.txt",
                           compile::BufferAssignmentText(plan, code.scratch_bytes)));
  HLOSCOPE_TRY(files.Write(memory + "-live-range.txt", compile::LiveRangeText(plan)));
  HLOSCOPE_TRY(files.Write("thunk_sequence.txt", compile::ThunkSequenceText(plan, code.codes)));
  return files.Write("thunk_metadata.txt", compile::ThunkMetadataText(plan, code.codes));
}

Status WriteCode(DumpFiles& files, const CodeTexts& code) {
  for (const compile::CodePart& part : code.parts) {
    HLOSCOPE_TRY(files.Write(part.name + ".ir-no-opt.ll", part.llvm_ir));
    HLOSCOPE_TRY(files.Write(part.name + ".ir-with-opt.ll", part.optimized_llvm_ir));
    HLOSCOPE_TRY(files.Write(part.name + ".s", part.assembly));
    HLOSCOPE_TRY(files.Write(fmt::format("obj-file.{}.o", part.name), part.object));
  }
  return {};
}

}  // namespace

Result<int64_t> WriteOwnDump(const std::string& folder,
                             const std::shared_ptr<const hlo::Module>& before,
                             const compile::Compilation& compiled, const CodeTexts& code,
                             bool passes) {
  DumpFiles files(folder, before->name());
  HLOSCOPE_TRY(WriteModules(files, before, compiled, passes));
  HLOSCOPE_TRY(files.Write("debug_options", OptionsText(compiled)));
  HLOSCOPE_TRY(WritePlan(files, compiled, code));
  HLOSCOPE_TRY(WriteCode(files, code));
  return files.count();
}

}  // namespace hloscope::replay
