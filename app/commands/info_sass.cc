// The machine code of one kernel, by CUDA's tools.
#include <fmt/format.h>

#include "app/cancel.h"
#include "app/commands/info_lineage.h"
#include "app/dump_place.h"
#include "app/name_hint.h"
#include "core/backends/sass/machine_code.h"
#include "core/base/format_text.h"
#include "core/base/json.h"
#include "core/dump/dump_model.h"

namespace hloscope::app {
namespace {

using replay::MachineCode;
using replay::SassLine;

constexpr std::string_view kKernelKey = "kernel=";

std::string CodeText(const dump::Kernel& kernel, const std::string& ptx, const MachineCode& code) {
  std::string out = FormatText("{}{}\n", kernel.name,
                               code.target.empty() ? std::string() : " for " + code.target);
  out += FormatText("  of       {}\n", code.source);
  if (const std::string text = ResourcesText(code.resources); !text.empty())
    out += FormatText("  takes    {}\n", text);
  if (!code.note.empty()) out += FormatText("  note     {}\n", code.note);
  if (code.lines.empty()) return out;
  if (code.has_ptx_lines && !ptx.empty()) out += FormatText("  lines of {}\n", ptx);
  for (const SassLine& line : code.lines) {
    if (line.offset < 0) {
      out += FormatText("{}\n", line.text);
      continue;
    }
    const std::string ptx_line = line.ptx_line > 0 ? std::to_string(line.ptx_line) : "";
    out += FormatText("{:>6}  {:04x}  {}\n", ptx_line, line.offset, line.text);
  }
  return out;
}

void WriteNumber(std::string_view key, const std::optional<int64_t>& number, JsonWriter& json) {
  json.Key(key);
  number ? json.Value(*number) : json.Null();
}

std::string CodeJson(const std::string& path, const dump::Kernel& kernel, const std::string& ptx,
                     const MachineCode& code) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject().Field("file", path).Field("kernel", kernel.name);
  json.Key("instructions").BeginArray();
  for (const std::string& name : kernel.instructions) json.Value(name);
  json.EndArray();
  json.Field("target", code.target).Field("source", code.source).Field("ptx", ptx);
  const replay::KernelResources& r = code.resources;
  WriteNumber("registers", r.registers, json);
  WriteNumber("barriers", r.barriers, json);
  WriteNumber("stack_bytes", r.stack_bytes, json);
  WriteNumber("spill_store_bytes", r.spill_store_bytes, json);
  WriteNumber("spill_load_bytes", r.spill_load_bytes, json);
  WriteNumber("shared_bytes", r.shared_bytes, json);
  json.Field("note", code.note).Field("log", code.log);
  json.Key("sass").BeginArray();
  for (const SassLine& line : code.lines) {
    json.BeginObject();
    if (line.offset >= 0) json.Field("offset", line.offset);
    json.Field("text", line.text);
    if (line.ptx_line > 0) json.Field("ptx_line", line.ptx_line);
    json.EndObject();
  }
  json.EndArray().EndObject();
  return out + "\n";
}

}  // namespace

Result<std::string> SassText(const std::string& path, const std::string& selection,
                             const Context& context) {
  const CancelOnSignals cancel;
  HLOSCOPE_ASSIGN_OR_RETURN(auto model, dump::DumpModel::Open(path, context.limits));
  const auto [module_name, what] = SplitModule(selection);
  if (!what.starts_with(kKernelKey))
    return InputError("--sass: expected a kernel: --select [MODULE:]kernel=NAME");
  const std::string name = what.substr(kKernelKey.size());
  HLOSCOPE_ASSIGN_OR_RETURN(const int32_t module, FindModule(*model, module_name));
  HLOSCOPE_ASSIGN_OR_RETURN(const auto table, model->Kernels(module));
  const dump::Kernel* kernel = table->Find(name);
  if (kernel == nullptr) {
    NameHint hint(name, "kernels");
    for (const dump::Kernel& other : table->kernels) hint.Offer(other.name);
    return InputError(fmt::format("{}: no kernel {} in this module", path, name),
                      hint.Text(kListsMissing));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(
      const MachineCode code,
      replay::MachineCodeIn(*model, module, *kernel, replay::FindCudaTools(), cancel.token()));
  const std::string ptx =
      kernel->ptx.found() ? model->files()[static_cast<size_t>(kernel->ptx.file)].path : "";
  return context.json ? CodeJson(path, *kernel, ptx, code) : CodeText(*kernel, ptx, code);
}

}  // namespace hloscope::app
