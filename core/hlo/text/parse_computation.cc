// Computations: heads, bodies, and going on after an error.
#include <string>
#include <utility>

#include "core/hlo/text/text_parser.h"
#include "core/hlo/text/value_text.h"

namespace hloscope::hlo {
namespace {

std::string_view Trim(std::string_view line) {
  while (!line.empty() && TextCursor::IsSpace(line.front())) line.remove_prefix(1);
  while (!line.empty() && TextCursor::IsSpace(line.back())) line.remove_suffix(1);
  return line;
}

// `name = …` with a space before `=` (an attribute has none), or a name with `%`.
bool BeginsInstruction(std::string_view line) {
  TextCursor cursor(line);
  cursor.ConsumeWord("ROOT");
  bool percent = cursor.Peek() == '%';
  if (cursor.ReadName().empty()) return false;
  bool spaced = cursor.position() != cursor.end() && TextCursor::IsSpace(*cursor.position());
  return (percent || spaced) && cursor.Peek() == '=';
}

bool BeginsComputation(std::string_view line) {
  return line.starts_with("ENTRY ") ||
         (line.ends_with('{') && line.find(" = ") == std::string_view::npos);
}

}  // namespace

bool TextParser::ParseComputation() {
  cursor_.SkipSpace();
  uint64_t entry_offset = cursor_.offset();
  bool is_entry = cursor_.ConsumeWord("ENTRY");
  cursor_.SkipSpace();
  uint64_t offset = cursor_.offset();
  bool percent = cursor_.Peek() == '%';
  std::string_view text = cursor_.ReadName();
  if (text.empty() || (!percent && IsKeyword(text))) {
    cursor_.set_position(cursor_.text().data() + offset);
    return Expected("the name of a computation");
  }
  StringId name = builder_.Intern(text);
  std::optional<ShapeId> result;
  uint64_t result_offset = 0;
  if (cursor_.Peek() == '(' && !ReadSignature(result, result_offset)) return false;
  Callee callee;
  if (!ParseBody(name, callee)) return false;
  if (result) CheckSignature(callee, *result, result_offset, text);
  StringId thread;
  if (!ReadExecutionThread(thread)) return false;
  if (callee.computation != kNone) {
    ComputationId id(callee.computation);
    builder_.computation(id).execution_thread = thread;
    if (is_entry) entry_ = id;
  }
  if (is_entry && saw_entry_) {
    Error("entry", "the module has two ENTRY computations, expected one", entry_offset,
          "the first is on line " + LineOf(entry_offset_));
  } else if (is_entry) {
    saw_entry_ = true;
    entry_offset_ = entry_offset;
  }
  DefineComputation(name, callee, offset);
  return true;
}

// (name: shape, …) -> shape. The parameters of the body say the same, only the result is checked.
bool TextParser::ReadSignature(std::optional<ShapeId>& result, uint64_t& result_offset) {
  if (!Need('(')) return false;
  if (cursor_.Peek() != ')') {
    do {
      ShapeId ignored;
      if (cursor_.ReadName().empty()) return Expected("the name of a parameter");
      cursor_.Consume(':');
      if (!ReadShapeId(ignored)) return false;
    } while (cursor_.Consume(','));
  }
  if (!Need(')')) return false;
  if (!cursor_.Consume("->")) return Expected("`->` before the result shape");
  cursor_.SkipSpace();
  result_offset = cursor_.offset();
  ShapeId shape;
  if (!ReadShapeId(shape)) return false;
  result = shape;
  return true;
}

bool TextParser::CheckSignature(Callee callee, ShapeId declared, uint64_t offset,
                                std::string_view name) {
  if (callee.computation == kNone) return true;
  const Module& m = builder_.module();
  InstructionId root = m[ComputationId(callee.computation)].root;
  const ShapeComparison kHow = {.dynamic_dimensions = false};
  if (m[root].shape == declared || Compatible(m.shape(root), m[declared], kHow)) return true;
  return Error("signature",
               "computation " + std::string(name) + " says its result is " +
                   ToString(m[declared], false) + ", but its root " + std::string(m.name(root)) +
                   " is " + ToString(m.shape(root), false),
               offset);
}

bool TextParser::ReadExecutionThread(StringId& thread) {
  bool seen = false;
  while (cursor_.Consume(',')) {
    if (!cursor_.ConsumeAttributeName("execution_thread") || seen) {
      return Expected("execution_thread, once");
    }
    seen = true;
    if (!ReadStringId(thread)) return false;
  }
  if (builder_.module()[thread] == "main") thread = StringId();
  return true;
}

void TextParser::DefineComputation(StringId name, Callee callee, uint64_t offset) {
  if (computations_.size() <= name.index) computations_.resize(symbols_.size() + name.index + 1);
  Callee& known = computations_[name.index];
  if (known.known) {
    std::string text(builder_.module()[name]);
    Error("duplicate-name", "computation " + text + " is defined twice", offset,
          "give one of the two another name");
  }
  known = callee;
  known.known = true;
}

TextParser::Scope& TextParser::OpenScope() {
  if (scopes_.size() == depth_) scopes_.push_back(std::make_unique<Scope>());
  Scope& s = *scopes_[depth_++];
  s.id = ++scope_count_;
  s.root = kNone;
  s.makes_parameters = false;
  s.errors_before = error_count_;
  return s;
}

void TextParser::LeaveScope() {
  Scope& s = scope();
  for (auto [name, symbol] : s.shadowed) symbols_[name.index] = symbol;
  s.shadowed.clear();
  s.instructions.clear();
  s.operands.clear();
  s.attributes.clear();
  s.predecessors.clear();
  s.predecessor_ids.clear();
  s.parameters.clear();
  s.async_starts.clear();
  --depth_;
}

bool TextParser::ParseBody(StringId name, Callee& callee) {
  if (++nesting_ > limits_.nesting) {
    --nesting_;
    return Error("nesting",
                 "computations are nested too deeply, expected at most " +
                     std::to_string(limits_.nesting) + " levels",
                 cursor_.offset(), "raise it with --limit nesting=N");
  }
  if (cursor_.Peek() != '{') {
    --nesting_;
    return Expected("`{` before the instructions");
  }
  // Those that are open will be some too.
  if (std::cmp_greater_equal(builder_.module().computations().size() + depth_,
                             limits_.computations)) {
    --nesting_;
    return OverLimit("computations", limits_.computations, "computations", cursor_.offset());
  }
  cursor_.Consume('{');
  Scope& s = OpenScope();
  uint64_t start = cursor_.offset() - 1;
  bool ended = false;
  while (!Full() && !(ended = cursor_.Consume('}')) && !cursor_.AtEnd()) {
    if (!ParseInstruction() && !RecoverInstruction()) break;
  }
  if (!ended && !Full() && error_count_ == s.errors_before) {
    Error("syntax", "the computation has no end, expected `}`", cursor_.offset(),
          "it begins on line " + LineOf(start));
  }
  if (ended && s.instructions.empty() && error_count_ == s.errors_before) {
    Error("syntax", "the computation is empty, expected at least one instruction", start);
  }
  bool sound = ended && error_count_ == s.errors_before && CheckParameters(s);
  callee.known = true;
  if (sound) callee.computation = CloseScope(name).index;
  if (!sound) LeaveScope();
  --nesting_;
  return ended;
}

// Parameter numbers are 0, 1, … without a gap.
bool TextParser::CheckParameters(Scope& s) {
  bool ok = true;
  std::vector<bool> seen(s.parameters.size(), false);
  for (auto [number, index] : s.parameters) {
    uint64_t offset = s.instructions[index].offset;
    bool fits = number < static_cast<int64_t>(seen.size());
    if (fits && !seen[static_cast<size_t>(number)]) {
      seen[static_cast<size_t>(number)] = true;
      continue;
    }
    std::string message = fits ? "parameter number " + std::to_string(number) + " appears twice"
                               : "parameter number is " + std::to_string(number);
    ok = Error(
        "parameter-number",
        message + ", expected the numbers 0 to " + std::to_string(seen.size() - 1) + " once each",
        offset);
  }
  return ok;
}

ComputationId TextParser::CloseScope(StringId name) {
  Scope& s = scope();
  // Two of one name (inline ones are all called `_`) are told apart at the end.
  std::string_view text = builder_.module()[name];
  if (text == "_" || text == "async_wrapped") names_clash_ = true;
  NoteSuffix(name);
  ComputationId id = builder_.DeclareComputation(name);
  builder_.BeginComputation(id);
  uint32_t base = builder_.NextInstruction().index;
  Flush(s);
  uint32_t root = s.root == kNone ? static_cast<uint32_t>(s.instructions.size() - 1) : s.root;
  builder_.EndComputation(InstructionId(base + root));
  LeaveScope();
  return id;
}

void TextParser::Flush(Scope& s) {
  uint32_t base = builder_.NextInstruction().index;
  if (base != 0) {
    for (InstructionId& operand : s.operands) operand.index += base;
    for (uint32_t& id : s.predecessor_ids) id += base;
  }
  std::span<const uint32_t> ids = s.predecessor_ids;
  for (const Predecessors& p : s.predecessors) {
    s.attributes[p.attribute] =
        builder_.MakeIds(AttributeKey::kControlPredecessors, ids.subspan(p.first, p.count));
  }
  std::span<const InstructionId> operands = s.operands;
  std::span<const Attribute> attributes = s.attributes;
  for (const Pending& i : s.instructions) {
    builder_.AddInstruction(i.name, i.opcode, i.shape,
                            operands.subspan(i.first_operand, i.operand_count),
                            attributes.subspan(i.first_attribute, i.attribute_count), i.offset);
  }
}

// Goes to the next line that begins an instruction or ends the computation; false if there is none.
bool TextParser::RecoverInstruction() {
  std::string_view text = cursor_.text();
  size_t end = text.find('\n', cursor_.offset());
  while (end != std::string_view::npos) {
    size_t start = end + 1;
    end = text.find('\n', start);
    std::string_view line = Trim(text.substr(start, end - start));
    if (line.starts_with('}') || BeginsInstruction(line)) {
      cursor_.set_position(text.data() + start);
      return true;
    }
  }
  cursor_.set_position(cursor_.end());
  return false;
}

// Goes to the next line that begins a computation, or to the end.
void TextParser::RecoverComputation() {
  std::string_view text = cursor_.text();
  size_t end = text.find('\n', cursor_.offset());
  while (end != std::string_view::npos) {
    size_t start = end + 1;
    end = text.find('\n', start);
    if (BeginsComputation(Trim(text.substr(start, end - start)))) {
      cursor_.set_position(text.data() + start);
      return;
    }
  }
  cursor_.set_position(cursor_.end());
}

}  // namespace hloscope::hlo
