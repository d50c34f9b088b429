// Shapes as HLO text.
#include "core/base/append.h"
#include "core/hlo/permutation.h"
#include "core/hlo/text/text_parts.h"
#include "core/hlo/text/value_text.h"

namespace hloscope::hlo {
namespace {

// True if the brace at the cursor begins a layout and not a computation: an integer or a colon
// comes next.
bool LayoutFollows(TextCursor cursor) {
  if (!cursor.Consume('{')) return false;
  char c = cursor.Peek();
  return c == ':' || c == '-' || TextCursor::IsDigit(c);
}

// One size of [2,<=3,?].
Parsed<void> ReadDimension(TextCursor& cursor, Shape& shape) {
  if (cursor.Consume('?')) {
    shape.add_dimension(Shape::kUnboundedSize, true);
    return {};
  }
  bool dynamic = cursor.Consume("<=");
  uint64_t start = (cursor.SkipSpace(), cursor.offset());
  HLOSCOPE_ASSIGN_OR_RETURN(int64_t size, ReadNumber(cursor, "a dimension size", "shape"));
  if (size < 0) {
    return std::unexpected(TextCursor::Fail(
        "shape", "dimension size " + std::to_string(size) + " is negative", start));
  }
  shape.add_dimension(size, dynamic);
  return {};
}

Parsed<void> ReadDimensions(TextCursor& cursor, Shape& shape, const Limits& limits) {
  HLOSCOPE_TRY(Require(cursor, '[', "[ after the element type", "shape"));
  if (cursor.Consume(']')) return {};
  do {
    if (!shape.IsArray()) {
      return std::unexpected(TextCursor::Fail(
          "shape", std::string(ToString(shape.element_type())) + " has no dimensions",
          cursor.offset(), "write " + std::string(ToString(shape.element_type())) + "[]"));
    }
    if (static_cast<int64_t>(shape.rank()) == limits.rank) {
      return std::unexpected(OverLimit(cursor, "dimensions in a shape", limits.rank, "rank"));
    }
    HLOSCOPE_TRY(ReadDimension(cursor, shape));
  } while (cursor.Consume(','));
  return Require(cursor, ']', "] or , after a dimension size", "shape");
}

// f32[2,3]{1,0}, token[], opaque[].
Parsed<Shape> ReadLeaf(TextCursor& cursor, const Limits& limits) {
  cursor.SkipSpace();
  const char* start = cursor.position();
  uint64_t offset = cursor.offset();
  ElementType type = ElementTypeFromText(cursor.ReadWord());
  if (type == ElementType::kInvalid || type == ElementType::kTuple ||
      type == ElementType::kBuffer) {
    cursor.set_position(start);
    return std::unexpected(cursor.Expected("a shape such as f32[8,128]", "shape"));
  }
  Shape shape = Shape::Array(type, std::vector<int64_t>{});
  HLOSCOPE_TRY(ReadDimensions(cursor, shape, limits));
  if (!shape.IsArray() || !LayoutFollows(cursor)) return shape;
  HLOSCOPE_ASSIGN_OR_RETURN(Layout layout, ReadLayout(cursor, PhysicalShape::kRefused, limits));
  if (!IsPermutation(layout.minor_to_major, shape.rank())) {
    return std::unexpected(TextCursor::Fail(
        "layout",
        "layout of " + ToString(shape) + " orders " + std::to_string(layout.minor_to_major.size()) +
            " dimensions, expected each of its " + std::to_string(shape.rank()) + " once",
        offset));
  }
  shape.set_layout(std::move(layout));
  return shape;
}

// A tuple or buffer whose end has not been read yet.
struct OpenShape {
  bool is_buffer;
  std::vector<Shape> elements;
};

// Takes `(` or `b(`.
bool ConsumeOpening(TextCursor& cursor, std::vector<OpenShape>& open) {
  if (cursor.Consume('(')) {
    open.push_back({false, {}});
    return true;
  }
  TextCursor ahead = cursor;
  if (!ahead.ConsumeWord("b") || !ahead.Consume('(')) return false;
  cursor = ahead;
  open.push_back({true, {}});
  return true;
}

Parsed<Shape> Close(TextCursor& cursor, OpenShape open) {
  if (!open.is_buffer) return Shape::Tuple(std::move(open.elements));
  if (open.elements.size() != 1 || !open.elements[0].IsArray()) {
    return std::unexpected(
        TextCursor::Fail("shape", "a buffer shape b(…) holds one array shape", cursor.offset()));
  }
  return Shape::Buffer(std::move(open.elements[0]));
}

void AppendLeaf(std::string& out, const Shape& shape, bool layouts) {
  out += ToString(shape.element_type());
  out += '[';
  for (size_t i = 0; i < shape.rank(); ++i) {
    if (i != 0) out += ',';
    if (shape.is_dynamic_dimension(i) && shape.is_unbounded_dimension(i)) {
      out += '?';
      continue;
    }
    if (shape.is_dynamic_dimension(i)) out += "<=";
    AppendInteger(out, shape.dimension(i));
  }
  out += ']';
  if (layouts && shape.IsArray() && shape.has_layout()) {
    size_t before = out.size();
    AppendTo(out, shape.layout());
    if (shape.rank() == 0 && out.size() == before + 2) out.resize(before);  // a bare {}
  }
}

}  // namespace

Parsed<Shape> ReadShape(TextCursor& cursor, const Limits& limits) {
  std::vector<OpenShape> open;
  while (true) {
    bool opened = ConsumeOpening(cursor, open);
    if (opened) {
      if (static_cast<int64_t>(open.size()) > limits.nesting) {
        return std::unexpected(
            OverLimit(cursor, "tuples inside one another", limits.nesting, "nesting"));
      }
      if (open.back().is_buffer || cursor.Peek() != ')') continue;
    }
    Shape shape;
    if (!opened) {
      HLOSCOPE_ASSIGN_OR_RETURN(shape, ReadLeaf(cursor, limits));
      if (open.empty()) return shape;
      open.back().elements.push_back(std::move(shape));
    }
    while (!cursor.Consume(',')) {
      HLOSCOPE_TRY(Require(cursor, ')', ") or , in a tuple shape", "shape"));
      HLOSCOPE_ASSIGN_OR_RETURN(shape, Close(cursor, std::move(open.back())));
      open.pop_back();
      if (open.empty()) return shape;
      open.back().elements.push_back(std::move(shape));
    }
    if (static_cast<int64_t>(open.back().elements.size()) >= limits.tuple_arity) {
      return std::unexpected(
          OverLimit(cursor, "elements in a tuple", limits.tuple_arity, "tuple-arity"));
    }
  }
}

void AppendTo(std::string& out, const Shape& shape, bool layouts) {
  if (shape.elements().empty() && !shape.IsTuple()) {
    AppendLeaf(out, shape, layouts);
    return;
  }
  struct Open {
    const Shape* shape;
    size_t next;
  };
  std::vector<Open> open = {{&shape, 0}};
  out += shape.IsBuffer() ? "b(" : "(";
  while (!open.empty()) {
    auto& [tuple, next] = open.back();
    if (next == tuple->elements().size()) {
      out += ')';
      open.pop_back();
      continue;
    }
    if (next != 0) out += ", ";
    if (next != 0 && next % 5 == 0) {
      out += "/*index=";
      AppendInteger(out, next);
      out += "*/";
    }
    const Shape& element = tuple->elements()[next++];
    if (element.elements().empty() && !element.IsTuple()) {
      AppendLeaf(out, element, layouts);
      continue;
    }
    out += element.IsBuffer() ? "b(" : "(";
    open.push_back({&element, 0});
  }
}

std::string ToString(const Shape& shape, bool layouts) {
  std::string out;
  AppendTo(out, shape, layouts);
  return out;
}

}  // namespace hloscope::hlo
