// Modules through protos: round trips, the generated classes, order, unknown fields, bad files.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/unknown_field_set.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/hlo/proto/proto_fields.h"
#include "tests/hlo/proto_fixture.h"

namespace hloscope::hlo {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

const Descriptor* Message(std::string_view name) {
  return google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(
      "hloscope.proto." + std::string(name));
}

FieldKind KindOf(const FieldDescriptor& field) {
  auto of = [&](FieldKind one, FieldKind many) { return field.is_repeated() ? many : one; };
  switch (field.type()) {
    case FieldDescriptor::TYPE_MESSAGE:
      return of(FieldKind::kMessage, FieldKind::kMessages);
    case FieldDescriptor::TYPE_STRING:
      return of(FieldKind::kString, FieldKind::kStrings);
    case FieldDescriptor::TYPE_BYTES:
      return of(FieldKind::kBytes, FieldKind::kBytess);
    case FieldDescriptor::TYPE_BOOL:
      return of(FieldKind::kBool, FieldKind::kBools);
    case FieldDescriptor::TYPE_ENUM:
      return of(FieldKind::kEnum, FieldKind::kEnums);
    case FieldDescriptor::TYPE_FLOAT:
      return of(FieldKind::kFloat, FieldKind::kFloats);
    case FieldDescriptor::TYPE_DOUBLE:
      return of(FieldKind::kDouble, FieldKind::kDoubles);
    default:
      return of(FieldKind::kInt, FieldKind::kInts);
  }
}

TEST(ProtoFields, TableIsThatOfTheGeneratedClasses) {
  const Descriptor* message = nullptr;
  for (const FieldRow& row : FieldRows()) {
    if (row.number == 0) {
      // Entries of maps are generated messages too.
      message = Message(row.message);
      ASSERT_NE(message, nullptr) << row.message;
      continue;
    }
    ASSERT_NE(message, nullptr) << "the first row names a message";
    const FieldDescriptor* field = message->FindFieldByNumber(static_cast<int>(row.number));
    ASSERT_NE(field, nullptr) << message->name() << " " << row.number;
    EXPECT_EQ(field->name(), row.name);
    EXPECT_EQ(KindOf(*field), row.kind) << message->name() << "." << row.name;
  }
}

TEST(ProtoFields, PathsOfAttributesExist) {
  for (int i = 0; i < kOpcodeCount; ++i) {
    auto opcode = static_cast<Opcode>(i);
    for (const AttributeField& attribute : AttributeFields(opcode)) {
      const Descriptor* message = Message("HloInstructionProto");
      for (uint8_t number : attribute.path) {
        if (number == 0) break;
        ASSERT_NE(message, nullptr) << ToString(opcode);
        const FieldDescriptor* field = message->FindFieldByNumber(number);
        ASSERT_NE(field, nullptr) << ToString(opcode) << " " << Info(attribute.key).text;
        message = field->message_type();
      }
    }
  }
}

TEST(Proto, TextToProtoToTextKeepsEverything) {
  auto module = Parsed(kRichModule);
  ASSERT_NE(module, nullptr);
  auto file = ReadProto(BytesOf(ModuleToProto(*module)));
  ASSERT_TRUE(file) << file.error().ToString();
  EXPECT_EQ(Printed(*file->module), Printed(*module));
  EXPECT_EQ(file->kind, ProtoKind::kModule);
}

// The generated class writes the same fields in another order; both readings give one module.
TEST(Proto, GeneratedClassesReadAndWriteTheSame) {
  std::string bytes = ModuleToProto(*Parsed(kRichModule));
  proto::HloModuleProto message = ToMessage(bytes);
  EXPECT_EQ(message.computations_size(), 4);
  std::string again = message.SerializeAsString();
  auto file = ReadProto(BytesOf(again));
  ASSERT_TRUE(file) << file.error().ToString();
  EXPECT_EQ(ModuleToProto(*file->module), bytes);
}

// By the place in the text, which the id tells; protos have XLA's post-order.
proto::HloInstructionProto& At(proto::HloModuleProto& m, int computation, int instruction) {
  auto& c = *m.mutable_computations(computation);
  for (proto::HloInstructionProto& i : *c.mutable_instructions()) {
    if (i.id() == (c.id() << 32) + instruction) return i;
  }
  ADD_FAILURE() << "no instruction " << instruction << " in " << c.name();
  return *c.mutable_instructions(0);
}

TEST(Proto, FieldsAreThoseXlaWrites) {
  proto::HloModuleProto message = ToMessage(ModuleToProto(*Parsed(kRichModule)));
  const auto& entry = message.computations(3);
  EXPECT_EQ(entry.name(), "main");
  EXPECT_EQ(message.entry_computation_id(), entry.id());
  EXPECT_EQ(entry.instructions(0).name(), "iota");  // nobody uses it
  const auto& dot = At(message, 3, 2);
  EXPECT_EQ(dot.opcode(), "dot");
  EXPECT_EQ(dot.dot_dimension_numbers().lhs_contracting_dimensions(0), 1);
  EXPECT_EQ(dot.precision_config().operand_precision(0), proto::PrecisionConfig::HIGHEST);
  EXPECT_EQ(dot.metadata().source_line(), 3);
  const auto& compare = At(message, 1, 3);
  EXPECT_EQ(compare.comparison_type(), "SIGNED");
  const auto& loop = At(message, 3, 12);
  EXPECT_EQ(loop.backend_config(), "opaque \"text\"");
  EXPECT_EQ(loop.called_computation_ids(0), message.computations(2).id());  // body first
  EXPECT_EQ(message.schedule().sequences_size(), 4);
}

// The entry computation of `body`, read from text, through a proto, printed as XLA does.
std::string ThroughProto(std::string_view body) {
  auto module = Parsed("HloModule m\n\nENTRY e {\n" + std::string(body) + "\n}\n");
  if (module == nullptr) return "not read";
  auto file = ReadProto(BytesOf(ModuleToProto(*module)));
  if (!file) return file.error().ToString();
  std::string text;
  PrintText(*file->module, TextFormat::kElided, text);
  return text;
}

TEST(Proto, TopKOfTheSmallestStaysThat) {
  for (std::string_view said : {", largest=false", ", largest=true", ""}) {
    std::string text = ThroughProto("a = f32[9] parameter(0)\n b = (f32[3], s32[3]) topk(a), k=3" +
                                    std::string(said));
    std::string kept = said.empty() ? ", largest=true" : std::string(said);
    EXPECT_NE(text.find("topk(%a), k=3" + kept + "\n"), std::string::npos) << text;
  }
}

TEST(Proto, EmptyWindowOfACustomCallStays) {
  std::string text = ThroughProto(
      "a = f32[9] parameter(0)\n b = f32[9] custom-call(a), window={}, custom_call_target=\"t\"");
  EXPECT_NE(text.find("custom-call(%a), window={}, custom"), std::string::npos) << text;
}

TEST(Proto, SliceSizesAreCutByArraysAndStarts) {
  std::string head = R"(
  x = f32[8,128] parameter(0)
  y = f32[8] parameter(1)
  z = s32[] constant(0)
  i = (s32[], s32[]) tuple(z, z)
  j = (s32[]) tuple(z)
  )";
  struct Case {
    const char* operands;
    const char* sizes;
  };
  const Case cases[] = {
      {"x, x, i, i", "{{1,2}}"},
      {"x, x, tuple(i, i), tuple(i, i)", "{{1,2},{3,4}}"},
      {"tuple(x, y), tuple(x, y), tuple(i, j), tuple(i, j)", "{{1,2},{3}}"},
      {"tuple(x, y), tuple(x, y), tuple(tuple(i, i), tuple(j, j)), "
       "tuple(tuple(i, i), tuple(j, j))",
       "{{1,2},{5,6},{3},{4}}"},
  };
  for (const Case& c : cases) {
    std::string text = ThroughProto(head + "ROOT p = f32[8,128] collective-permute(" + c.operands +
                                    "), source_target_pairs={{0,1}}, slice_sizes=" + c.sizes);
    EXPECT_NE(text.find(std::string("slice_sizes=") + c.sizes + "\n"), std::string::npos) << text;
  }
}

TEST(Proto, ControlPredecessorsDonorsAndThreadsAreXlas) {
  auto module = Parsed(R"(HloModule m, buffer_donor={ (1, {}), (0, {}), (1, {}) }
ENTRY e {
  a = f32[4] parameter(0)
  b = f32[4] parameter(1)
  s = ((f32[4]), f32[4], s32[]) negate-start(a), async_execution_thread="t", origin={{"o"}}
  d = f32[4] negate-done(s), control-predecessors={b, b}
}
)");
  ASSERT_NE(module, nullptr);
  proto::HloModuleProto message = ToMessage(ModuleToProto(*module));
  EXPECT_EQ(message.computations(0).execution_thread(), "t");
  EXPECT_EQ(message.computations(1).instructions(3).control_predecessor_ids_size(), 1);
  ASSERT_EQ(message.buffer_donor().entries_size(), 2);
  EXPECT_EQ(message.buffer_donor().entries(0).parameter_number(), 0);
  auto file = ReadProto(BytesOf(message.SerializeAsString()));
  ASSERT_TRUE(file) << file.error().ToString();
  std::string text;
  PrintText(*file->module, TextFormat::kElided, text);
  EXPECT_NE(text.find("origin={{\"o\"}}"), std::string::npos) << text;
}

// As XLA: entries by their key, the first of equal ones, without commas between them.
// As the text is: what describes layouts divides by the sizes.
TEST(Proto, TileSizesBelowOneAreRefused) {
  const auto module =
      ParseText("HloModule m\nENTRY e {\n  ROOT p = f32[16,256]{1,0:T(8,128)} parameter(0)\n}\n")
          .module;
  ASSERT_NE(module, nullptr);
  proto::HloModuleProto message = ToMessage(ModuleToProto(*module));
  auto* layout =
      message.mutable_computations(0)->mutable_instructions(0)->mutable_shape()->mutable_layout();
  ASSERT_EQ(layout->tiles_size(), 1);
  layout->mutable_tiles(0)->set_dimensions(0, 0);
  const auto file = ReadProto(BytesOf(message.SerializeAsString()));
  ASSERT_FALSE(file.has_value());
  EXPECT_NE(file.error().message.find("tile size is below 1"), std::string::npos);
}

TEST(Proto, RecoveryTableIsSorted) {
  constexpr std::string_view kText = R"(HloModule m, origin_recovery_table={
    {"c" {1}} : {"b"}, "ENTRY f { p = f32[4] parameter(0), metadata={op_name=\"n\"} }"
    {"b" {0,1}} : {"x" {2}} {"b" {0}} : {} {"c" {1}} : {"z"} }
ENTRY e { a = f32[4] parameter(0) }
)";
  auto module = Parsed(kText);
  ASSERT_NE(module, nullptr);
  auto file = ReadProto(BytesOf(ModuleToProto(*module)));
  ASSERT_TRUE(file) << file.error().ToString();
  std::string direct, through;
  PrintText(*module, TextFormat::kElided, direct);
  PrintText(*file->module, TextFormat::kElided, through);
  EXPECT_EQ(direct, through);
  EXPECT_NE(direct.find(R"(={
  {"b" {0}} : {""}
  {"b" {0,1}} : {"x" {2}}
  {"c" {1}} : {"b"},
  "
    HloModule module_f,)"),
            std::string::npos)
      << direct;
  std::string lossless = Printed(*file->module);
  auto again = Parsed(lossless);
  ASSERT_NE(again, nullptr) << lossless;
  EXPECT_EQ(ModuleToProto(*again), ModuleToProto(*module));
  EXPECT_EQ(Parsed("HloModule m, origin_recovery_table={ {\"a\"} : {\"b\"}, {\"c\"} : {\"d\"} }\n"
                   "ENTRY e { a = f32[4] parameter(0) }"),
            nullptr);
}

TEST(Proto, UnknownFieldsAreKept) {
  proto::HloModuleProto message = ToMessage(ModuleToProto(*Parsed(kRichModule)));
  auto add = [](google::protobuf::Message* m, int number, std::string_view text) {
    m->GetReflection()->MutableUnknownFields(m)->AddLengthDelimited(number, std::string(text));
  };
  auto* instruction = message.mutable_computations(3)->mutable_instructions(2);
  add(&message, 900, "module");
  add(message.mutable_computations(1), 901, "computation");
  add(instruction, 902, "instruction");
  add(instruction->mutable_metadata(), 903, "metadata");
  instruction->set_k(5);  // known, but not for a dot
  message.set_is_dynamic(true);
  auto file = ReadProto(BytesOf(message.SerializeAsString()));
  ASSERT_TRUE(file) << file.error().ToString();
  proto::HloModuleProto back = ToMessage(ModuleToProto(*file->module));
  // Unknown fields are compared too.
  std::string differences;
  google::protobuf::util::MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&differences);
  EXPECT_TRUE(differencer.Compare(message, back)) << differences;
}

// The order of a schedule wins; without one that of the ids, or whatever operands allow.
TEST(Proto, InstructionsComeInOrder) {
  proto::HloModuleProto message = ToMessage(ModuleToProto(*Parsed(kRichModule)));
  std::string expected = Printed(*Parsed(kRichModule));
  for (auto& computation : *message.mutable_computations()) {
    auto* list = computation.mutable_instructions();
    std::reverse(list->pointer_begin(), list->pointer_end());
  }
  auto scheduled = ReadProto(BytesOf(message.SerializeAsString()));
  ASSERT_TRUE(scheduled) << scheduled.error().ToString();
  EXPECT_EQ(Printed(*scheduled->module), expected);
  message.clear_schedule();
  auto by_ids = ReadProto(BytesOf(message.SerializeAsString()));
  ASSERT_TRUE(by_ids) << by_ids.error().ToString();
  EXPECT_EQ(by_ids->module->instructions().size(), 31u);
  EXPECT_EQ(by_ids->module->name(InstructionId(0u)), "x");
}

struct BadModule {
  std::string_view name;
  void (*edit)(proto::HloModuleProto&);
  std::string_view message;
};

constexpr BadModule kBadModules[] = {
    {"unknown opcode", [](auto& m) { At(m, 0, 2).set_opcode("frobnicate"); },
     "computation `add`: instruction `sum`: unknown opcode `frobnicate`"},
    {"no shape", [](auto& m) { At(m, 0, 2).clear_shape(); }, "instruction `sum`: no shape"},
    {"unknown operand", [](auto& m) { At(m, 0, 2).set_operand_ids(1, 99); },
     "computation `add`: instruction `sum`: operand 1 has id 99, which no instruction of this "
     "computation has"},
    {"unknown control predecessor", [](auto& m) { At(m, 0, 2).add_control_predecessor_ids(98); },
     "computation `add`: instruction `sum`: control predecessor 0 has id 98, which no instruction "
     "of this computation has"},
    {"two of one id", [](auto& m) { At(m, 0, 1).set_id(At(m, 0, 0).id()); },
     "two instructions have id 0"},
    {"two of one name", [](auto& m) { At(m, 0, 1).set_name("x"); },
     "two instructions are called `x`"},
    {"cycle",
     [](auto& m) {
       m.clear_schedule();
       At(m, 0, 2).set_operand_ids(0, At(m, 0, 2).id());
     },
     "instruction `sum` depends on itself"},
    {"no root", [](auto& m) { m.mutable_computations(0)->set_root_id(77); },
     "root_id is 77, but it has no such instruction"},
    {"no entry", [](auto& m) { m.set_entry_computation_id(55); },
     "entry_computation_id is 55, but the module has no such computation"},
    {"unknown call", [](auto& m) { At(m, 3, 4).set_called_computation_ids(0, 66); },
     "instruction `reduced`: calls computation 66, which is not in the module"},
    {"recursion",
     [](auto& m) {
       auto& i = At(m, 0, 2);
       i.set_opcode("call");
       i.add_called_computation_ids(m.computations(0).id());
     },
     "computation `add` calls itself"},
    {"two computations of one id", [](auto& m) { m.mutable_computations(1)->set_id(0); },
     "two computations have id 0"},
    {"schedule against operands",
     [](auto& m) {
       auto& ids = (*m.mutable_schedule()->mutable_sequences())[0];
       ids.mutable_instruction_ids()->SwapElements(0, 2);
     },
     "the schedule puts `sum` before its operand `x`"},
    {"schedule too short",
     [](auto& m) {
       (*m.mutable_schedule()->mutable_sequences())[0].mutable_instruction_ids()->RemoveLast();
     },
     "the schedule has 2 of 3 instructions"},
    {"negative dimension", [](auto& m) { At(m, 3, 0).mutable_shape()->set_dimensions(0, -5); },
     "dimension 0 of a shape is -5, expected 0 or more"},
    {"literal too short",
     [](auto& m) { At(m, 3, 15).mutable_literal()->set_s4s(std::string("\1", 1)); },
     "literal of shape s4[2,2]{0,1} has 1 element, expected 4"},
    {"constant without literal", [](auto& m) { At(m, 1, 2).clear_literal(); },
     "instruction `n`: constant has no literal"},
    {"unknown direction", [](auto& m) { At(m, 1, 3).set_comparison_direction("UP"); },
     "direction: unknown value `UP`"},
};

TEST(Proto, BadModulesAreErrorsThatSayWhere) {
  std::string bytes = ModuleToProto(*Parsed(kRichModule));
  for (const BadModule& bad : kBadModules) {
    proto::HloModuleProto message = ToMessage(bytes);
    bad.edit(message);
    auto file = ReadProto(BytesOf(message.SerializeAsString()));
    ASSERT_FALSE(file) << bad.name;
    EXPECT_EQ(file.error().error_class, ErrorClass::kInput) << bad.name;
    EXPECT_NE(file.error().message.find(bad.message), std::string::npos)
        << bad.name << ": " << file.error().message;
  }
}

TEST(Proto, NestingIsLimited) {
  proto::HloModuleProto message = ToMessage(ModuleToProto(*Parsed(kRichModule)));
  proto::ShapeProto* shape = At(message, 0, 0).mutable_shape();
  for (int i = 0; i < 90; ++i) {
    shape->Clear();
    shape->set_element_type(proto::TUPLE);
    shape = shape->add_tuple_shapes();
  }
  shape->set_element_type(proto::TOKEN);
  std::string bytes = message.SerializeAsString();
  Limits limits;
  EXPECT_TRUE(ReadProto(BytesOf(bytes), limits));
  limits.proto_nesting = 50;
  auto file = ReadProto(BytesOf(bytes), limits);
  ASSERT_FALSE(file);
  EXPECT_NE(file.error().message.find("messages are nested more than 50 deep"), std::string::npos);
}

TEST(Proto, EveryPrefixIsReadOrRefused) {
  std::string bytes = ModuleToProto(*Parsed(kRichModule));
  int refused = 0;
  for (size_t size = 0; size < bytes.size(); ++size) {
    // A copy of exactly that size, so that reading beyond it is seen by a sanitizer.
    auto copy = std::make_unique<std::byte[]>(size);
    std::memcpy(copy.get(), bytes.data(), size);
    refused += !ReadProto({copy.get(), size}).has_value();
  }
  EXPECT_GT(refused, static_cast<int>(bytes.size()) / 2);
}

TEST(Proto, MutationsAreReadOrRefused) {
  const std::string bytes = ModuleToProto(*Parsed(kRichModule));
  std::mt19937 random(7);
  int read = 0;
  for (int n = 0; n < 3000; ++n) {
    std::string mutated = bytes;
    for (int k = 0; k < 1 + n % 4; ++k) {
      mutated[random() % mutated.size()] = static_cast<char>(n % 2 == 0 ? random() : 0x7f);
    }
    auto file = ReadProto(BytesOf(mutated));
    if (!file) continue;
    ++read;
    // What can be read can be written and read again.
    auto again = ReadProto(BytesOf(ModuleToProto(*file->module)));
    EXPECT_TRUE(again) << again.error().ToString();
  }
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace hloscope::hlo
