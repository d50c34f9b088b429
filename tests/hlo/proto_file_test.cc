// Literals in protos, files with arguments and results, text protos.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/hlo/proto_fixture.h"

namespace hloscope::hlo {
namespace {

// A literal of zeros and ones; the one of s1 is -1.
Literal Counting(Shape shape) {
  std::vector<std::byte> bytes(static_cast<size_t>(*shape.ByteSize()));
  int one = shape.element_type() == ElementType::kS1 ? 0xff : 1;
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = std::byte{static_cast<uint8_t>(i % 3 == 0 ? one : 0)};
  }
  return Literal::Dense(std::move(shape), std::move(bytes));
}

TEST(ProtoLiteral, EveryElementTypeInEveryOrder) {
  for (const ElementTypeInfo& type : kElementTypes) {
    if (!IsArrayType(type.type)) continue;
    for (const std::vector<int64_t>& order :
         {std::vector<int64_t>{2, 1, 0}, {0, 1, 2}, {1, 2, 0}}) {
      Shape shape = Shape::Array(type.type, {2, 3, 4});
      shape.set_layout({order, nullptr});
      Literal literal = Counting(shape);
      auto back = LiteralFromProto(BytesOf(LiteralToProto(literal)));
      ASSERT_TRUE(back) << type.text << ": " << back.error().ToString();
      EXPECT_EQ(*back, literal) << type.text;
      EXPECT_EQ(back->shape(), shape) << type.text;
    }
  }
}

TEST(ProtoLiteral, ElementsAreInTheOrderOfTheLayout) {
  Shape shape = Shape::Array(ElementType::kF32, {2, 2});
  shape.set_layout({{0, 1}, nullptr});
  const float values[] = {1, 2, 3, 4};
  proto::LiteralProto message;
  message.ParseFromString(LiteralToProto(Literal::Of<float>(shape, values)));
  EXPECT_EQ(message.f32s(1), 3);
}

TEST(ProtoLiteral, NarrowTypesAreReadPackedToo) {
  proto::LiteralProto message;
  message.mutable_shape()->set_element_type(proto::S4);
  message.mutable_shape()->add_dimensions(3);
  for (std::string_view bytes :
       {std::string_view("\xf1\x02", 2), std::string_view("\x01\x0f\x02")}) {
    message.set_s4s(std::string(bytes));
    auto literal = LiteralFromProto(BytesOf(message.SerializeAsString()));
    ASSERT_TRUE(literal) << literal.error().ToString();
    const auto values = literal->data<int8_t>();
    EXPECT_EQ(std::vector<int8_t>(values.begin(), values.end()), (std::vector<int8_t>{1, -1, 2}));
  }
}

TEST(ProtoLiteral, TuplesDynamicSizesAndElidedValues) {
  Shape dynamic = Shape::Array(ElementType::kS32, {4});
  dynamic.set_dynamic_dimension(0, true);
  Literal live = Counting(dynamic);
  live.set_dynamic_sizes({3});
  Literal tuple = Literal::Tuple({live, Counting(Shape::Array(ElementType::kPred, {5}))});
  auto back = LiteralFromProto(BytesOf(LiteralToProto(tuple)));
  ASSERT_TRUE(back) << back.error().ToString();
  EXPECT_EQ(*back, tuple);
  EXPECT_EQ(back->elements()[0].dynamic_sizes()[0], 3);
  Literal elided = Literal::Elided(Shape::Array(ElementType::kF32, {1 << 20}));
  back = LiteralFromProto(BytesOf(LiteralToProto(elided)));
  ASSERT_TRUE(back);
  EXPECT_TRUE(back->elided());
}

ProtoFile FileOf(ProtoKind kind) {
  ProtoFile file;
  file.kind = kind;
  file.module = Parsed("ENTRY e {\n  a = f32[2] parameter(0)\n  ROOT n = f32[2] negate(a)\n}\n");
  return file;
}

TEST(ProtoFiles, SnapshotKeepsArgumentsAndResult) {
  ProtoFile file = FileOf(ProtoKind::kSnapshot);
  const float a[] = {1, -2}, r[] = {-1, 2};
  Shape shape = Shape::Array(ElementType::kF32, {2}).WithDefaultLayouts();
  file.arguments = {{Literal::Of<float>(shape, a)}};
  file.result = Literal::Of<float>(shape, r);
  file.execution_platform = "Host";
  std::string bytes = SnapshotToProto(file);
  EXPECT_EQ(SniffProto(BytesOf(bytes)), ProtoKind::kSnapshot);
  for (const Result<ProtoFile>& back :
       {ReadProto(BytesOf(bytes)), ReadTextProto(HloToTextProto(file))}) {
    ASSERT_TRUE(back) << back.error().ToString();
    EXPECT_EQ(back->kind, ProtoKind::kSnapshot);
    ASSERT_EQ(back->arguments.size(), 1u);
    EXPECT_EQ(back->arguments[0][0], file.arguments[0][0]);
    EXPECT_EQ(*back->result, *file.result);
    EXPECT_EQ(back->execution_platform, "Host");
    EXPECT_EQ(Printed(*back->module), Printed(*file.module));
  }
}

TEST(ProtoFiles, HloProtoKeepsTheBufferAssignment) {
  ProtoFile file = FileOf(ProtoKind::kHlo);
  proto::BufferAssignmentProto buffers;
  buffers.add_logical_buffers()->set_size(8);
  file.buffer_assignment = buffers.SerializeAsString();
  std::string bytes = HloToProto(file);
  auto back = ReadProto(BytesOf(bytes));
  ASSERT_TRUE(back) << back.error().ToString();
  EXPECT_EQ(back->kind, ProtoKind::kHlo);
  EXPECT_EQ(back->buffer_assignment, file.buffer_assignment);
  EXPECT_EQ(HloToProto(*back), bytes);
}

// What XLA appends for a described argument: size of the shape, shape, elements.
std::string Serialised(const Shape& shape, std::string_view elements) {
  proto::LiteralProto message;
  message.ParseFromString(LiteralToProto(Literal::Elided(shape)));
  std::string bytes = message.shape().SerializeAsString();
  auto size = static_cast<int64_t>(bytes.size());
  return std::string(reinterpret_cast<const char*>(&size), sizeof size) + bytes +
         std::string(elements);
}

TEST(ProtoFiles, UnoptimizedSnapshotDescribesArgumentsThatFollow) {
  proto::HloUnoptimizedSnapshot snapshot;
  snapshot.mutable_hlo_module()->ParseFromString(ModuleToProto(*FileOf(ProtoKind::kModule).module));
  std::string first = Serialised(Shape::Array(ElementType::kPred, {10}), "\x05\x02");
  std::string second =
      Serialised(Shape::Array(ElementType::kU16, {2}), std::string_view("\1\0\2\0", 4));
  for (const std::string* argument : {&first, &second}) {
    snapshot.add_partitions()->add_arguments_descriptors()->set_argument_size_bytes(
        argument->size());
  }
  std::string message = snapshot.SerializeAsString();
  std::string file;
  for (size_t n = message.size(); true; n >>= 7) {
    file += static_cast<char>(n < 128 ? n : (n & 127) | 128);
    if (n < 128) break;
  }
  file += message + first + second;
  EXPECT_EQ(SniffProto(BytesOf(file)), ProtoKind::kUnoptimizedSnapshot);
  auto back = ReadProto(BytesOf(file));
  ASSERT_TRUE(back) << back.error().ToString();
  ASSERT_EQ(back->arguments.size(), 2u);
  auto bits = back->arguments[0][0].data<uint8_t>();
  EXPECT_EQ(std::vector<uint8_t>(bits.begin(), bits.end()),
            (std::vector<uint8_t>{1, 0, 1, 0, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(back->arguments[1][0].data<uint16_t>()[1], 2);
  file.pop_back();
  EXPECT_FALSE(ReadProto(BytesOf(file)));
}

TEST(ProtoFiles, LargeLiteralsStayInTheFile) {
  auto module = Parsed("ENTRY e {\n  ROOT c = f32[4096] constant({...})\n}\n");
  proto::HloModuleProto message = ToMessage(ModuleToProto(*module));
  auto* literal = message.mutable_computations(0)->mutable_instructions(0)->mutable_literal();
  for (int i = 0; i < 4096; ++i) literal->add_f32s(static_cast<float>(i));
  // Somewhere among eight neighbouring places the elements are aligned.
  bool viewed = false;
  for (size_t shift = 0; shift < 8; ++shift) {
    auto bytes =
        std::make_shared<std::string>(std::string(shift, ' ') + message.SerializeAsString());
    auto text = std::string_view(*bytes).substr(shift);
    auto file = ReadProto(BytesOf(text), {}, bytes);
    ASSERT_TRUE(file) << file.error().ToString();
    const Instruction& constant = file->module->instructions()[0];
    const auto& value = *file->module->Get<Literal>(constant, AttributeKey::kConstantValue);
    EXPECT_EQ(value.data<float>()[4095], 4095.f);
    const char* data = reinterpret_cast<const char*>(value.bytes().data());
    viewed |= data >= bytes->data() && data < bytes->data() + bytes->size();
  }
  EXPECT_TRUE(viewed);
}

TEST(ProtoFiles, TextProtoErrorsHaveALine) {
  auto file = ReadTextProto("name: \"m\"\ncomputations {\n  name: 3\n}\n");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().place.line, 3u);
  EXPECT_NE(file.error().message.find("malformed text proto"), std::string::npos);
}

// DebugString() of protobuf: a mark with changing white space, before the text or in its line.
TEST(ProtoFiles, MarksOfDebugStringsAreSkipped) {
  constexpr std::string_view kText =
      "name: \"m\"\ncomputations {\n  name: \"e\"\n  root_id: 1\n  instructions {\n    name: "
      "\"p\"\n"
      "    opcode: \"parameter\"\n    id: 1\n    shape { element_type: F32 }\n  }\n}\n";
  for (std::string_view mark : {"goo.gle/debugproto\n", "goo.gle/debugstr \t \n\n",
                                "goo.gle/debugonly  ", "  goo.gle/debugsomething\r\n"}) {
    auto file = ReadTextProto(std::string(mark) + std::string(kText));
    ASSERT_TRUE(file) << mark << file.error().ToString();
    EXPECT_EQ(file->module->name(), "m");
  }
  auto broken = ReadTextProto("goo.gle/debugproto\nname: \"m\"\ncomputations {\n  name: 3\n}\n");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().place.line, 4u) << "of the file";
  EXPECT_FALSE(ReadTextProto("goo.gle/debugproto"));
}

TEST(ProtoFiles, OtherBytesAreNotAProto) {
  for (std::string_view text : {"", "HloModule m\n\nENTRY e {\n}\n",
                                "\x0a\x03"
                                "abc",
                                "\xff\xff\xff"}) {
    EXPECT_EQ(SniffProto(BytesOf(text)), std::nullopt) << text;
    EXPECT_FALSE(ReadProto(BytesOf(text)));
  }
}

}  // namespace
}  // namespace hloscope::hlo
