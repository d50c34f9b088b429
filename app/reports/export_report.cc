#include "app/reports/export_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "app/reports/dump_report.h"
#include "core/base/counted.h"
#include "core/base/format_text.h"
#include "core/base/json.h"
#include "core/dump/listing/sniff.h"
#include "core/dump/readers/symbolic_shapes.h"

namespace hloscope::app {
namespace {

std::vector<std::string> ShapesOf(const dump::JaxExport& exported,
                                  const std::vector<uint32_t>& list) {
  std::vector<std::string> shapes;
  for (const uint32_t index : list) shapes.push_back(ToString(exported.arrays[index]));
  return shapes;
}

// The numbers of the arguments that the module does not take.
std::vector<uint32_t> UnusedOf(const dump::JaxExport& exported) {
  std::vector<uint32_t> unused;
  for (uint32_t k = 0; k < exported.arguments.size(); ++k) {
    if (!std::ranges::binary_search(exported.kept, k)) unused.push_back(k);
  }
  return unused;
}

}  // namespace

std::string ExportText(const FileView& file, const dump::JaxExport& exported) {
  const auto bytes = static_cast<int64_t>(file.bytes().size());
  std::string out = FormatText("{}: function {} ({}, {})\n", file.path(), exported.function,
                               dump::Describe(dump::FileKind::kJaxExport), BytesText(bytes));
  out += FormatText(
      "  for {} on {}, calling convention version {}{}\n", Join(exported.platforms, ", "),
      Counted(exported.devices, "device"), exported.calling_convention,
      exported.jax_version.empty() ? "" : FormatText(", jax {}", exported.jax_version));
  out += FormatText("  parameters: {}\n", Join(ShapesOf(exported, exported.arguments), " "));
  const auto unused = UnusedOf(exported);
  if (!unused.empty()) out += FormatText("  unused parameters: {}\n", Join(unused, ", "));
  out += FormatText("  results: {}\n", Join(ShapesOf(exported, exported.results), " "));
  const auto variables = dump::DimensionVariablesOf(exported);
  out += variables.empty() ? "  all shapes are fixed\n"
                           : FormatText(
                                 "  shapes are symbolic: {} (`run` takes them from --inputs "
                                 "or --shape NAME=N)\n",
                                 Join(variables, ", "));
  if (exported.ordered_effects > 0) {
    out += FormatText("  {}\n", Counted(exported.ordered_effects, "ordered side effect"));
  }
  if (exported.vjp_order > 0) {
    out += FormatText("  can be differentiated {}\n", Counted(exported.vjp_order, "time"));
  }
  return out;
}

std::string ExportJson(const FileView& file, const dump::JaxExport& exported) {
  std::string out;
  JsonWriter json(out);
  const auto strings = [&](std::string_view key, const auto& values) {
    json.Key(key).BeginArray();
    for (const auto& value : values) json.Value(value);
    json.EndArray();
  };
  json.BeginObject()
      .Field("file", file.path())
      .Field("kind", dump::ToString(dump::FileKind::kJaxExport))
      .Field("bytes", file.bytes().size())
      .Field("function", exported.function);
  strings("platforms", exported.platforms);
  json.Field("devices", exported.devices)
      .Field("calling_convention_version", exported.calling_convention)
      .Field("jax_version", exported.jax_version);
  strings("parameters", ShapesOf(exported, exported.arguments));
  strings("unused_parameters", UnusedOf(exported));
  strings("results", ShapesOf(exported, exported.results));
  strings("dimension_variables", dump::DimensionVariablesOf(exported));
  json.Field("ordered_effects", exported.ordered_effects)
      .Field("vjp_order", exported.vjp_order)
      .Field("module_bytes", exported.module.size())
      .EndObject();
  return out + "\n";
}

}  // namespace hloscope::app
