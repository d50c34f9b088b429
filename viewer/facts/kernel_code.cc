// Code of kernels, worked out in the background.
#include "viewer/facts/kernel_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/analysis/align/code_lines.h"
#include "core/analysis/align/provenance.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/marks.h"
#include "viewer/model/navigation.h"
#include "viewer/model/task_cache.h"

namespace hloscope::viewer {

CodeForms CodeFormsOf(const dump::ModuleEntry& module) {
  // AMD's have no PTX.
  const bool is_rocm = module.target.starts_with("gfx");
  if (module.device == "cpu" || is_rocm) return {"LLVM IR", "^llvm$"};
  if (module.device == "gpu") return {"LLVM IR and PTX", "^(llvm|ptx|triton-fusion)$"};
  return {};
}

std::string NoCodeText(const dump::ModuleEntry& module) {
  const CodeForms code = CodeFormsOf(module);
  if (code.forms.empty()) return "no code in this dump";
  return fmt::format(
      "no code in this dump: XLA_FLAGS=\"--xla_dump_to=FOLDER --xla_dump_hlo_as_text "
      "--xla_dump_emitter_re={}\" writes {}",
      code.emitters, code.forms);
}

std::string NoKernelCodeText(const dump::ModuleEntry& module) {
  const CodeForms code = CodeFormsOf(module);
  if (code.forms.empty()) return "no code of this kernel in the dump";
  return fmt::format("no code of this kernel in the dump: --xla_dump_emitter_re={} writes {}",
                     code.emitters, code.forms);
}

namespace {

struct CodeLinesKey {
  using Value = CodeLines;
  int32_t module = -1, kernel = -1;
  uint32_t instruction = 0;
  auto operator<=>(const CodeLinesKey&) const = default;
};

struct MachineCodeKey {
  using Value = MachineCodeText;
  int32_t module = -1, kernel = -1;
  auto operator<=>(const MachineCodeKey&) const = default;
};

// Nothing: the kernels of the module are not read yet, or there is none such.
std::optional<std::pair<ModuleAnchor, std::string>> NameOfKernel(Context& context, int32_t module,
                                                                 int32_t kernel) {
  const Pending<dump::KernelTable>& table = context.data.Kernels(module);
  if (!table.ready() || kernel < 0 || kernel >= std::ssize(table->kernels)) return std::nullopt;
  return std::pair(AnchorOfModule(*context.document.dump(), module),
                   table->kernels[static_cast<size_t>(kernel)].name);
}

Computed<CodeLines> FindLines(const dump::DumpModel& dump, int32_t module, int32_t kernel,
                              hlo::InstructionId id) {
  HLOSCOPE_ASSIGN_OR_RETURN(const auto table, dump.Kernels(module));
  HLOSCOPE_ASSIGN_OR_RETURN(const auto final, dump.Module(module, dump.FinalStage(module)));
  auto out = std::make_shared<CodeLines>();
  if (analysis::KernelInstructions(*final)[id.index] == id) return out;
  for (const analysis::InstructionCode& code : analysis::FindInstructionCode(
           dump, table->kernels[static_cast<size_t>(kernel)], *final, id)) {
    for (const analysis::CodeLine& line : code.lines) out->lines[code.file].insert(line.line - 1);
  }
  return out;
}

// A line for each instruction: its line of PTX, its place, itself.
Computed<MachineCodeText> MakeText(const dump::DumpModel& dump, int32_t module, int32_t kernel,
                                   const std::stop_token& stop) {
  HLOSCOPE_ASSIGN_OR_RETURN(const auto table, dump.Kernels(module));
  auto out = std::make_shared<MachineCodeText>();
  HLOSCOPE_ASSIGN_OR_RETURN(
      out->code,
      debug::MachineCodeIn(dump, module, table->kernels[static_cast<size_t>(kernel)], stop));
  if (out->code.lines.empty()) return out;
  std::string text;
  for (const debug::SassLine& line : out->code.lines) {
    if (line.offset < 0) {
      text += line.text + "\n";
    } else if (out->code.has_ptx_lines) {
      text +=
          fmt::format("{:>4} {:04x}  {}\n", line.ptx_line > 0 ? std::to_string(line.ptx_line) : "",
                      line.offset, line.text);
    } else {
      text += fmt::format("{:04x}  {}\n", line.offset, line.text);
    }
    out->ptx_lines.push_back(line.ptx_line);
  }
  HLOSCOPE_ASSIGN_OR_RETURN(
      out->text, TextDocument::Make(FileView::FromBytes("SASS", text), dump::FileKind::kPtx, stop));
  return out;
}

}  // namespace

const Pending<CodeLines>* CodeLinesOf(Context& context, int32_t module, int32_t kernel) {
  const Counterparts& found = context.navigation.counterparts();
  const bool is_instruction =
      context.navigation.selection().kind == SelectionKind::kInstruction && found.module == module;
  if (!is_instruction || found.final_instructions.empty()) return nullptr;
  const hlo::InstructionId id = found.final_instructions.front();
  if (std::ranges::find(found.kernel_instructions, id) != found.kernel_instructions.end())
    return nullptr;
  return &context.cache.Get(CodeLinesKey{module, kernel, id.index}, "finding lines of code",
                            [dump = context.document.dump().value, module, kernel,
                             id](TaskControl&) { return FindLines(*dump, module, kernel, id); });
}

const Pending<MachineCodeText>* MachineCodeOf(Context& context, int32_t module, int32_t kernel) {
  const auto name = NameOfKernel(context, module, kernel);
  if (!name || !context.marks.Of<AskedMachineCode>().kernels.contains(*name)) return nullptr;
  return &context.cache.Get(
      MachineCodeKey{module, kernel}, "making SASS",
      [dump = context.document.dump().value, module, kernel](TaskControl& control) {
        return MakeText(*dump, module, kernel, control.stop());
      });
}

void AskMachineCode(Context& context, int32_t module, int32_t kernel) {
  const MachineCodeKey key{module, kernel};
  const Pending<MachineCodeText>* known = context.cache.Find(key);
  if (known != nullptr && known->failed()) context.cache.Drop(key);
  if (auto name = NameOfKernel(context, module, kernel)) {
    context.marks.Of<AskedMachineCode>().kernels.insert(*std::move(name));
  }
}

}  // namespace hloscope::viewer
