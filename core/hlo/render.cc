// JSON, Graphviz and HTML of a selection.
#include "core/hlo/render.h"

#include <fmt/format.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/hlo/text.h"

namespace hloscope::hlo {
namespace {

// Calls visit(computation, its selected instructions) for every run of instructions of one
// computation.
template <typename Visit>
void ForEachComputation(const Module& module, std::span<const InstructionId> selection,
                        Visit visit) {
  for (size_t begin = 0; begin < selection.size();) {
    ComputationId computation = module[selection[begin]].computation;
    size_t end = begin;
    while (end < selection.size() && module[selection[end]].computation == computation) ++end;
    visit(computation, selection.subspan(begin, end - begin));
    begin = end;
  }
}

std::vector<bool> MarkSelected(const Module& module, std::span<const InstructionId> selection) {
  std::vector<bool> selected(module.instructions().size());
  for (InstructionId id : selection) selected[id.index] = true;
  return selected;
}

// Double quotes and backslashes escaped, line breaks as \n, as Graphviz wants strings.
std::string DotString(std::string_view text) {
  std::string out = "\"";
  for (char c : RepairUtf8(text)) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) >= 0x20) {
      out += c;
    }
  }
  return out + "\"";
}

void WriteInstruction(JsonWriter& json, const Module& module, InstructionId id) {
  std::string text;
  PrintText(module, id, TextFormat::kHlo, text);
  json.BeginObject().Field("name", module.name(id)).Field("opcode", ToString(module[id].opcode));
  json.Field("shape", ToString(module.shape(id))).Key("operands").BeginArray();
  for (InstructionId operand : module.operands(id)) json.Value(module.name(operand));
  json.EndArray().Key("calls").BeginArray();
  for (ComputationId called : module.CalledComputations(module[id]))
    json.Value(module[module[called].name]);
  json.EndArray().Field("text", text).EndObject();
}

// `<a href="#i7">%name</a>` for every operand inside the escaped line would need its tokens; the
// operands follow instead.
void AppendHtmlLine(std::string& out, const Module& module, InstructionId id,
                    const std::vector<bool>& selected) {
  std::string text;
  PrintText(module, id, TextFormat::kElided, text);
  bool root = module[module[id].computation].root == id;
  out += fmt::format("<li id=\"i{}\"{}><code style=\"border-left:4px solid {}\">{}{}</code>",
                     id.index, root ? " class=\"root\"" : "", ColorOf(module[id].opcode),
                     root ? "ROOT " : "", EscapeHtml(text));
  for (InstructionId operand : module.operands(id)) {
    if (!selected[operand.index]) continue;
    out += fmt::format(" <a href=\"#i{}\">{}</a>", operand.index, EscapeHtml(module.name(operand)));
  }
  for (ComputationId called : module.CalledComputations(module[id])) {
    out += fmt::format(" <a href=\"#c{}\">{}</a>", called.index,
                       EscapeHtml(module[module[called].name]));
  }
  out += "</li>\n";
}

}  // namespace

std::string_view ColorOf(Opcode opcode) {
  // Okabe and Ito's palette, lightened; related categories share a hue.
  switch (Info(opcode).category) {
    case Category::kElementwise:
      return "#cfe8f7";
    case Category::kDataMovement:
      return "#e6e6e6";
    case Category::kContraction:
    case Category::kLinearAlgebra:
      return "#f7c59b";
    case Category::kReduction:
    case Category::kNormalization:
      return "#f6e58d";
    case Category::kSort:
      return "#dcd3ef";
    case Category::kSource:
      return "#f5f5f5";
    case Category::kTuple:
      return "#ffffff";
    case Category::kControl:
      return "#b7e4c7";
    case Category::kFusion:
      return "#9fd3c7";
    case Category::kCollective:
      return "#e8b4d0";
    case Category::kHostTransfer:
      return "#f2a6a6";
    case Category::kDynamic:
      return "#dcd3ef";
    case Category::kCustomCall:
      return "#d9b48f";
  }
  return "#ffffff";
}

std::string ToJson(const Module& module, std::span<const InstructionId> selection) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject().Field("module", module.name()).Field("entry", module[module.entry().name]);
  json.Key("computations").BeginArray();
  ForEachComputation(module, selection, [&](ComputationId c, std::span<const InstructionId> ids) {
    json.BeginObject()
        .Field("name", module[module[c].name])
        .Field("root", module.name(module[c].root));
    json.Key("instructions").BeginArray();
    for (InstructionId id : ids) WriteInstruction(json, module, id);
    json.EndArray().EndObject();
  });
  json.EndArray().EndObject();
  return out;
}

std::string ToDot(const Module& module, std::span<const InstructionId> selection) {
  std::vector<bool> selected = MarkSelected(module, selection);
  std::string out = "digraph " + DotString(module.name()) +
                    " {\n  node [shape=box, style=filled, fontname=\"monospace\"];\n";
  ForEachComputation(module, selection, [&](ComputationId c, std::span<const InstructionId> ids) {
    out += fmt::format("  subgraph cluster_{} {{\n    label={};\n", c.index,
                       DotString(module[module[c].name]));
    for (InstructionId id : ids) {
      std::string label = fmt::format("{}\n{}\n{}", module.name(id), ToString(module[id].opcode),
                                      ToString(module.shape(id)));
      out += fmt::format("    i{} [label={}, fillcolor=\"{}\"];\n", id.index, DotString(label),
                         ColorOf(module[id].opcode));
    }
    out += "  }\n";
  });
  for (InstructionId id : selection) {
    for (InstructionId operand : module.operands(id)) {
      if (selected[operand.index]) out += fmt::format("  i{} -> i{};\n", operand.index, id.index);
    }
  }
  return out + "}\n";
}

std::string ToHtml(const Module& module, std::span<const InstructionId> selection) {
  std::vector<bool> selected = MarkSelected(module, selection);
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">"
      "<title>{0}</title><style>body{{font-family:sans-serif}}li{{list-style:none;margin:2px 0}}"
      "code{{padding-left:6px;white-space:pre-wrap}}.root "
      "code{{font-weight:bold}}:target{{background:#fff3c4}}</style></head>"
      "<body><h1>{0}</h1>\n",
      EscapeHtml(module.name()));
  ForEachComputation(module, selection, [&](ComputationId c, std::span<const InstructionId> ids) {
    std::string_view entry = c == module.entry_id() ? " (entry)" : "";
    out += fmt::format("<h2 id=\"c{}\">{}{}</h2>\n<ul>\n", c.index,
                       EscapeHtml(module[module[c].name]), entry);
    for (InstructionId id : ids) AppendHtmlLine(out, module, id, selected);
    out += "</ul>\n";
  });
  return out + "</body></html>\n";
}

}  // namespace hloscope::hlo
