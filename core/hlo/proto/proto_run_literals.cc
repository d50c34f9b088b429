// Literals files of run_hlo_module: RunHloModuleLiterals and RunHloModuleIterationLiterals.
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include "core/hlo/proto/debug_mark.h"
#include "core/hlo/proto/hlo.pb.h"
#include "core/hlo/proto/proto.h"
#include "core/hlo/proto/proto_fields.h"
#include "core/hlo/proto/proto_reader.h"
#include "core/hlo/proto/proto_values.h"

namespace hloscope::hlo {
namespace {

Result<IterationLiterals> ReadIteration(std::string_view bytes, const Limits& limits) {
  IterationLiterals iteration;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag == AsBytes(IterationField::kArguments)) {
      HLOSCOPE_ASSIGN_OR_RETURN(Literal literal, ReadLiteral(field.bytes, limits, nullptr));
      iteration.arguments.push_back(std::move(literal));
    } else if (field.tag == AsBytes(IterationField::kResult)) {
      HLOSCOPE_ASSIGN_OR_RETURN(iteration.result, ReadLiteral(field.bytes, limits, nullptr));
    } else if (field.tag == AsBytes(IterationField::kReferenceResult)) {
      HLOSCOPE_ASSIGN_OR_RETURN(iteration.reference_result,
                                ReadLiteral(field.bytes, limits, nullptr));
    }
  }
  if (!reader.ok()) return Malformed("RunHloModuleIterationLiterals");
  return iteration;
}

Result<std::vector<IterationLiterals>> ReadIterations(std::string_view bytes,
                                                      const Limits& limits) {
  std::vector<IterationLiterals> iterations;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag != AsBytes(IterationsField::kIterations)) continue;
    HLOSCOPE_ASSIGN_OR_RETURN(IterationLiterals iteration, ReadIteration(field.bytes, limits));
    iterations.push_back(std::move(iteration));
  }
  if (!reader.ok()) return Malformed("RunHloModuleLiterals");
  return iterations;
}

// Both messages begin with a message in field 1: only the right one makes sense of it.
Result<std::vector<IterationLiterals>> ReadBinary(std::string_view bytes, const Limits& limits) {
  Result<std::vector<IterationLiterals>> several = ReadIterations(bytes, limits);
  if (several.has_value() && !several->empty()) return several;
  Result<IterationLiterals> one = ReadIteration(bytes, limits);
  const bool holds = one.has_value() && (!one->arguments.empty() || one->result);
  if (holds) return std::vector<IterationLiterals>{*std::move(one)};
  if (!several.has_value()) return several;
  return InputError("no literals of an iteration",
                    "expected RunHloModuleLiterals or RunHloModuleIterationLiterals");
}

// The wire form of a text proto; nullopt if it is no such text.
std::optional<std::string> WireOfText(std::string_view text, google::protobuf::Message& message,
                                      const Limits& limits) {
  class Silent : public google::protobuf::io::ErrorCollector {
   public:
    void AddError(int, google::protobuf::io::ColumnNumber, const std::string&) override {}
  } silent;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&silent);
  parser.SetRecursionLimit(static_cast<int>(limits.proto_nesting));
  std::string wire;
  text.remove_prefix(DebugMarkLength(text));
  if (!parser.ParseFromString(std::string(text), &message)) return std::nullopt;
  if (!message.SerializePartialToString(&wire)) return std::nullopt;
  return wire;
}

}  // namespace

Result<std::vector<IterationLiterals>> ReadRunLiterals(std::string_view bytes,
                                                       const Limits& limits) {
  constexpr size_t kMaxText = 0x7fffffff;
  const bool may_be_text = bytes.size() <= kMaxText && bytes.find('\0') == std::string_view::npos;
  if (may_be_text) {
    proto::RunHloModuleLiterals several;
    if (const auto wire = WireOfText(bytes, several, limits)) return ReadBinary(*wire, limits);
    proto::RunHloModuleIterationLiterals one;
    if (const auto wire = WireOfText(bytes, one, limits)) return ReadBinary(*wire, limits);
  }
  return ReadBinary(bytes, limits);
}

std::string RunLiteralsToProto(std::span<const IterationLiterals> iterations) {
  WireWriter out;
  auto literal = [&out](uint32_t number, const Literal& value) {
    const auto mark = out.Open(number);
    WriteLiteral(out, value);
    out.Close(mark);
  };
  for (const IterationLiterals& iteration : iterations) {
    const auto mark = out.Open(IterationsField::kIterations);
    for (const Literal& argument : iteration.arguments) {
      literal(IterationField::kArguments, argument);
    }
    if (iteration.result) literal(IterationField::kResult, *iteration.result);
    if (iteration.reference_result) {
      literal(IterationField::kReferenceResult, *iteration.reference_result);
    }
    out.Close(mark);
  }
  return std::move(out).Take();
}

}  // namespace hloscope::hlo
