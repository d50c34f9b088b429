#include "core/hlo/text/render.h"

#include "core/base/json.h"
#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/text/text.h"

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

void WriteInstruction(JsonWriter& json, const Module& module, InstructionId id,
                      InstructionPrinter& printer) {
  json.BeginObject().Field("name", module.name(id)).Field("opcode", ToString(module[id].opcode));
  json.Field("shape", ToString(module.shape(id))).Key("operands").BeginArray();
  for (InstructionId operand : module.operands(id)) json.Value(module.name(operand));
  json.EndArray().Key("calls").BeginArray();
  for (const Call& call : CallGraphOf(module).calls(id)) {
    json.Value(module[module[call.callee].name]);
  }
  json.EndArray().Field("text", printer.Text(id)).EndObject();
}

}  // namespace

std::string ToJson(const Module& module, std::span<const InstructionId> selection) {
  std::string out;
  JsonWriter json(out);
  InstructionPrinter printer(module, TextFormat::kHlo);
  json.BeginObject().Field("module", module.name()).Field("entry", module[module.entry().name]);
  json.Key("computations").BeginArray();
  ForEachComputation(module, selection, [&](ComputationId c, std::span<const InstructionId> ids) {
    json.BeginObject()
        .Field("name", module[module[c].name])
        .Field("root", module.name(module[c].root));
    json.Key("instructions").BeginArray();
    for (InstructionId id : ids) WriteInstruction(json, module, id, printer);
    json.EndArray().EndObject();
  });
  json.EndArray().EndObject();
  return out;
}

}  // namespace hloscope::hlo
