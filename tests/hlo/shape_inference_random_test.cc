// A seeded attack on shape inference: any opcode with any operands and attribute values has to be
// answered, whatever the readers would let through. The sanitizers see what must not happen.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "core/hlo/module_builder.h"
#include "core/hlo/shape/shape_inference.h"

namespace hloscope::hlo {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

class Attack {
 public:
  explicit Attack(uint64_t seed) : random_(seed) { MakeComputations(); }

  // One question. Answers whether a shape came back.
  bool Ask() {
    auto opcode = static_cast<Opcode>(Below(kOpcodeCount));
    std::vector<Shape> shapes(OperandCount(opcode));
    std::vector<const Shape*> operands;
    // Half of the questions have equal operands: those get further.
    bool equal = Below(2) == 0;
    for (Shape& shape : shapes) {
      shape = equal && &shape != shapes.data() ? shapes[0] : AnyShape(2);
      operands.push_back(&shape);
    }
    std::vector<Attribute> attributes;
    for (const AttributeUse& use : Info(opcode).attributes) {
      if (Below(8) != 0) AddAttribute(use.key, attributes);
    }
    Shape declared = Below(3) == 0 || shapes.empty() ? AnyShape(2) : shapes[0];
    InferenceInput input{.module = builder_.module(),
                         .opcode = opcode,
                         .operands = operands,
                         .attributes = attributes,
                         .declared = Below(4) == 0 ? nullptr : &declared,
                         .programs = &programs_,
                         .keep_layouts = Below(2) == 0};
    return InferShape(input).has_value();
  }

 private:
  size_t Below(size_t end) { return random_() % end; }
  template <typename T, size_t kCount>
  T OneOf(const T (&values)[kCount]) {
    return values[Below(kCount)];
  }

  size_t OperandCount(Opcode opcode) {
    int arity = Info(opcode).arity;
    return arity < 0 || Below(20) == 0 ? Below(7) : static_cast<size_t>(arity);
  }

  int64_t Number() {
    constexpr int64_t kHostile[] = {kMin, kMin + 1, -1, 5, int64_t{1} << 31, int64_t{1} << 62,
                                    kMax};
    return Below(12) == 0 ? OneOf(kHostile) : static_cast<int64_t>(Below(5));
  }

  Shape AnyShape(int depth) {
    constexpr ElementType kTypes[] = {ElementType::kF32,  ElementType::kF32, ElementType::kF32,
                                      ElementType::kS32,  ElementType::kU32, ElementType::kPred,
                                      ElementType::kBF16, ElementType::kC64, ElementType::kS4};
    size_t kind = Below(16);
    if (kind == 0) return Shape::Token();
    if (kind == 1) return Shape::Buffer(Shape::Array(ElementType::kF32, {4}));
    if (kind <= 3 && depth > 0) {
      std::vector<Shape> elements(Below(4));
      for (Shape& element : elements) element = AnyShape(depth - 1);
      return Shape::Tuple(std::move(elements));
    }
    constexpr int64_t kSizes[] = {0, 1, 2, 3, 4, 4, 4, 8, kMax, -1, int64_t{1} << 31};
    Shape shape = Shape::Array(OneOf(kTypes), std::vector<int64_t>(Below(4), 4));
    for (size_t i = 0; i < shape.rank(); ++i) {
      if (Below(2) == 0) shape.set_dimension(i, OneOf(kSizes));
      if (Below(8) == 0) shape.set_dimension(i, Shape::kUnboundedSize);
      shape.set_dynamic_dimension(i, shape.is_unbounded_dimension(i) || Below(8) == 0);
    }
    if (Below(2) == 0) shape.set_layout({.minor_to_major = Numbers(shape.rank()), .extras = {}});
    return shape;
  }

  std::vector<int64_t> Numbers(size_t count) {
    std::vector<int64_t> numbers(count);
    for (int64_t& number : numbers) number = Number();
    return numbers;
  }

  Window AnyWindow() {
    Window window;
    window.dimensions.resize(Below(4));
    for (WindowDimension& d : window.dimensions) {
      d = {.size = Number(), .stride = 1, .padding_low = Number(), .padding_high = Number()};
      if (Below(4) == 0) d.stride = Number();
      if (Below(4) == 0) d.window_dilation = Number();
      if (Below(4) == 0) d.base_dilation = Number();
    }
    return window;
  }

  ConvolutionDims AnyLabels() {
    size_t spatial = Below(3);
    return {.input_batch = Number(),
            .input_feature = Number(),
            .kernel_input_feature = Number(),
            .kernel_output_feature = Number(),
            .output_batch = Number(),
            .output_feature = Number(),
            .input_spatial = Numbers(spatial),
            .kernel_spatial = Numbers(spatial),
            .output_spatial = Numbers(Below(9) == 0 ? Below(3) : spatial)};
  }

  void AddAttribute(AttributeKey key, std::vector<Attribute>& to) {
    constexpr std::string_view kSparse[] = {"{rhs={sparsity=1x4}}", "{rhs={sparsity=1x}}", "{rhs={",
                                            "{rhs={sparsity=1x9223372036854775807}}"};
    switch (Info(key).kind) {
      case ValueKind::kBool:
        return to.push_back(builder_.MakeBool(key, Below(2) == 0));
      case ValueKind::kInt:
        return to.push_back(builder_.MakeInt(key, Number()));
      case ValueKind::kEnum:
        return to.push_back(builder_.MakeEnum(key, static_cast<int32_t>(Below(5))));
      case ValueKind::kInts:
        return to.push_back(builder_.MakeInts(key, Numbers(Below(4))));
      case ValueKind::kPadding:
      case ValueKind::kSlices:
        return to.push_back(builder_.MakeInts(key, Numbers(3 * Below(4))));
      case ValueKind::kComputation:
        return to.push_back({key, false, Computation()});
      case ValueKind::kComputations:
        return to.push_back(builder_.MakeIds(key, std::vector{Computation(), Computation()}));
      case ValueKind::kShape:
        return to.push_back(builder_.MakeShape(key, builder_.InternShape(AnyShape(1))));
      case ValueKind::kWindow:
        return to.push_back(builder_.Make(key, AnyWindow()));
      case ValueKind::kDimLabels:
        return to.push_back(builder_.Make(key, AnyLabels()));
      case ValueKind::kRaw:
        return to.push_back(
            builder_.Make(key, RawAttribute{.name = {}, .text = builder_.Intern(OneOf(kSparse))}));
      default:
        return;
    }
  }

  // One that exists, is only declared, or neither.
  uint32_t Computation() {
    size_t known = builder_.module().computations().size();
    return Below(20) == 0 ? ComputationId::kNone : static_cast<uint32_t>(Below(known + 1));
  }

  void MakeComputations() {
    Shape scalar = Shape::Scalar(ElementType::kF32), vector = Shape::Array(ElementType::kF32, {4});
    Shape pred = Shape::Scalar(ElementType::kPred);
    MakeComputation({scalar, scalar}, scalar);
    MakeComputation({scalar, scalar}, pred);
    MakeComputation({vector}, vector);
    MakeComputation({vector}, pred);
    MakeComputation({scalar, scalar, scalar, scalar}, Shape::Tuple({scalar, scalar}));
    MakeComputation({scalar, vector}, Shape::Tuple({scalar, vector}));
    MakeComputation({}, Shape::Tuple({}));
    builder_.DeclareComputation(builder_.Intern("declared"));
  }

  void MakeComputation(const std::vector<Shape>& parameters, const Shape& result) {
    ComputationId id = builder_.DeclareComputation(builder_.Intern("c"));
    builder_.BeginComputation(id);
    for (size_t i = 0; i < parameters.size(); ++i) {
      Attribute number = builder_.MakeInt(AttributeKey::kParameterNumber, static_cast<int64_t>(i));
      builder_.AddInstruction(builder_.Intern("p"), Opcode::kParameter,
                              builder_.InternShape(parameters[i]), {}, std::span(&number, 1));
    }
    builder_.EndComputation(builder_.AddInstruction(builder_.Intern("r"), Opcode::kConstant,
                                                    builder_.InternShape(result), {}, {}));
  }

  std::mt19937_64 random_;
  ModuleBuilder builder_;
  ProgramShapes programs_;
};

TEST(ShapeInferenceRandomTest, AnswersAnything) {
  size_t shapes = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Attack attack(seed);
    for (int i = 0; i < 5000; ++i) shapes += attack.Ask() ? 1 : 0;
  }
  // Enough questions are sound for the rules to run to their end.
  EXPECT_GT(shapes, 20'000u);
}

}  // namespace
}  // namespace hloscope::hlo
