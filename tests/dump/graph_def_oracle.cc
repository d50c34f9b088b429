#include "tests/dump/graph_def_oracle.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>

#include "core/dump/tensorflow/graph_losses.h"

namespace hloscope::dump {
namespace {

namespace pb = google::protobuf;

struct Row {
  std::string_view message, name;
  int number;
  GraphFieldKind kind;
  std::string_view inner;
  bool repeated;
};
constexpr Row kRows[] = {
#define GRAPH_FIELD(message, name, number, kind, inner, repeated) \
  {message, name, number, GraphFieldKind::kind, inner, repeated},
#include "core/dump/tensorflow/graph_fields.def"
#undef GRAPH_FIELD
};

// Of full_type.proto.
constexpr std::pair<std::string_view, int> kFullTypes[] = {
    {"TFT_UNSET", 0},
    {"TFT_VAR", 1},
    {"TFT_ANY", 2},
    {"TFT_PRODUCT", 3},
    {"TFT_CALLABLE", 100},
    {"TFT_BOOL", 200},
    {"TFT_INT32", 205},
    {"TFT_INT64", 206},
    {"TFT_FLOAT", 210},
    {"TFT_STRING", 214},
    {"TFT_TENSOR", 1000},
    {"TFT_ARRAY", 1001},
    {"TFT_OPTIONAL", 1002},
    {"TFT_SHAPE_TENSOR", 1005},
    {"TFT_DATASET", 10102},
    {"TFT_RAGGED", 10103},
    {"TFT_ITERATOR", 10104},
    {"TFT_MUTEX_LOCK", 10202},
    {"TFT_LEGACY_VARIANT", 10203},
};

pb::FieldDescriptorProto::Type TypeOf(GraphFieldKind kind) {
  using Proto = pb::FieldDescriptorProto;
  switch (kind) {
    using enum GraphFieldKind;
    case kString:
      return Proto::TYPE_STRING;
    case kBytes:
      return Proto::TYPE_BYTES;
    case kBool:
      return Proto::TYPE_BOOL;
    case kInteger:
      return Proto::TYPE_INT64;
    case kFixed64:
      return Proto::TYPE_FIXED64;
    case kFloat:
      return Proto::TYPE_FLOAT;
    case kDouble:
      return Proto::TYPE_DOUBLE;
    case kType:
    case kFullType:
      return Proto::TYPE_ENUM;
    case kMessage:
      return Proto::TYPE_MESSAGE;
  }
  return Proto::TYPE_BYTES;
}

pb::FileDescriptorProto File() {
  pb::FileDescriptorProto file;
  file.set_name("graph.proto");
  file.set_syntax("proto3");
  pb::EnumDescriptorProto& types = *file.add_enum_type();
  types.set_name("DataType");
  const auto add = [](pb::EnumDescriptorProto& to, const std::string& name, int number) {
    pb::EnumValueDescriptorProto& value = *to.add_value();
    value.set_name(name);
    value.set_number(number);
  };
  add(types, "DT_INVALID", 0);
#define TENSORFLOW_TYPE(number, name, bits) \
  add(types, "DT_" name, number);           \
  add(types, "DT_" name "_REF", 100 + number);
#include "core/dump/tensorflow/tensorflow_types.def"
#undef TENSORFLOW_TYPE
  pb::EnumDescriptorProto& full = *file.add_enum_type();
  full.set_name("FullTypeId");
  for (const auto& [name, number] : kFullTypes) add(full, std::string(name), number);
  pb::DescriptorProto* message = nullptr;
  for (const Row& row : kRows) {
    if (message == nullptr || message->name() != row.message) {
      message = file.add_message_type();
      message->set_name(std::string(row.message));
      if (row.message == "AttrValue") message->add_oneof_decl()->set_name("value");
    }
    pb::FieldDescriptorProto& field = *message->add_field();
    field.set_name(std::string(row.name));
    field.set_number(row.number);
    field.set_label(row.repeated ? pb::FieldDescriptorProto::LABEL_REPEATED
                                 : pb::FieldDescriptorProto::LABEL_OPTIONAL);
    field.set_type(TypeOf(row.kind));
    if (row.kind == GraphFieldKind::kMessage) field.set_type_name("." + std::string(row.inner));
    if (row.kind == GraphFieldKind::kType) field.set_type_name(".DataType");
    if (row.kind == GraphFieldKind::kFullType) field.set_type_name(".FullTypeId");
    if (row.message == "AttrValue") field.set_oneof_index(0);
  }
  return file;
}

class Errors : public pb::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (first.empty()) first = fmt::format("{}:{}: {}", line + 1, column + 1, message);
  }
  std::string first;
};

}  // namespace

struct GraphDefOracle::Types {
  pb::DescriptorPool pool;
  pb::DynamicMessageFactory factory{&pool};
  const pb::Message* graph = nullptr;

  std::unique_ptr<pb::Message> Read(std::string_view text, std::string* why) const {
    std::unique_ptr<pb::Message> message(graph->New());
    pb::TextFormat::Parser parser;
    Errors errors;
    parser.RecordErrorsTo(&errors);
    parser.SetRecursionLimit(100);
    const bool is_read = parser.ParseFromString(std::string(text), message.get());
    if (why != nullptr) *why = errors.first;
    return is_read ? std::move(message) : nullptr;
  }
};

GraphDefOracle::GraphDefOracle() : types_(std::make_unique<Types>()) {
  const pb::FileDescriptor* file = types_->pool.BuildFile(File());
  types_->graph =
      types_->factory.GetPrototype(file->FindMessageTypeByName(std::string(kGraphMessage)));
}
GraphDefOracle::~GraphDefOracle() = default;

std::optional<std::string> GraphDefOracle::ToWire(std::string_view text) const {
  const std::unique_ptr<pb::Message> message = types_->Read(text, nullptr);
  if (message == nullptr) return std::nullopt;
  return message->SerializePartialAsString();
}

bool GraphDefOracle::IsWhole(std::string_view wire) const {
  std::unique_ptr<pb::Message> message(types_->graph->New());
  if (!message->ParseFromString(std::string(wire))) return false;
  const size_t with_unknown = message->ByteSizeLong();
  message->DiscardUnknownFields();
  return message->ByteSizeLong() == with_unknown;
}

std::string GraphDefOracle::WhyNot(std::string_view text) const {
  std::string why;
  types_->Read(text, &why);
  return why;
}

std::string FactsText(const TensorFlowGraph& graph) {
  std::vector<std::string> lines;
  for (const TensorFlowFunction& function : graph.functions)
    lines.push_back(fmt::format("function {} of {} nodes, {} {}", function.name,
                                function.nodes.size(), function.must_compile,
                                function.xla_compile ? *function.xla_compile ? 1 : 0 : -1));
  for (const TensorFlowNode& node : graph.nodes) {
    std::string line = fmt::format("{}: {} ({}) on {} of {}, {}, {}; {}", node.function, node.name,
                                   node.op, node.device, node.cluster, node.outside, node.scope,
                                   fmt::join(node.inputs, " "));
    for (const auto& [key, type] : node.types) line += fmt::format(", {} {}", key, type);
    std::vector<std::string> functions = node.functions;
    std::ranges::sort(functions);
    line += fmt::format("; calls {}; shapes", fmt::join(functions, " "));
    for (const auto& shape : node.shapes)
      line += shape ? fmt::format(" [{}]", fmt::join(*shape, ",")) : " ?";
    line += fmt::format("; {} {} {}", node.must_compile, node.scoped_allocator,
                        node.xla_compile ? *node.xla_compile ? 1 : 0 : -1);
    lines.push_back(std::move(line));
  }
  std::ranges::sort(lines);
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

}  // namespace hloscope::dump
