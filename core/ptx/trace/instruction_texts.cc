// Names of registers from where they lie, texts from the file.
#include "core/ptx/trace/instruction_texts.h"

#include <algorithm>
#include <map>

#include "core/ptx/ir/layout.h"

namespace hloscope::ptx {
namespace {

constexpr std::string_view kSpecialNames[] = {
#define SPECIAL(enumerator, text) text,
#include "core/ptx/ir/special_registers.def"
#undef SPECIAL
};

// The text of a statement from its opcode to its end, blanks drawn together.
std::string StatementText(std::string_view text, size_t at) {
  std::string out;
  for (; at < text.size() && text[at] != ';'; ++at) {
    const char c = text[at];
    const bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!blank) {
      out += c;
    } else if (!out.empty() && out.back() != ' ') {
      out += ' ';
    }
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

class TextReader {
 public:
  TextReader(const Program& program, const Kernel& kernel) : syntax_(program.syntax) {
    text_ = *syntax_.text;
    lines_.push_back(0);
    for (size_t i = 0; i < text_.size(); ++i) {
      if (text_[i] == '\n') lines_.push_back(i + 1);
    }
    const auto entry = std::ranges::find(syntax_.entries, kernel.name, &Entry::name);
    if (entry == syntax_.entries.end()) return;
    Kernel scratch;
    const Layout layout(syntax_, *entry, scratch);
    for (uint32_t i = 0; i < entry->registers.size(); ++i) {
      const Register& r = entry->registers[i];
      std::string name(r.prefix);
      if (r.number != Register::kNoNumber) name += std::to_string(r.number);
      names_[layout.RegisterSlot(i).offset] = std::move(name);
    }
    for (const auto& [special, offset] : kernel.specials) {
      specials_[offset] = kSpecialNames[static_cast<size_t>(special)];
    }
  }

  TracedInstruction Read(const Kernel& kernel, size_t i) const {
    const Instruction& in = kernel.instructions[i];
    TracedInstruction out;
    out.line = in.position.line;
    out.column = in.position.column;
    const std::string& form = kernel.forms[i];
    out.opcode = form.substr(0, form.find('.'));
    if (form.find('.') != std::string::npos) out.type = RowOf(in.type).text;
    for (uint32_t s = 0; s < in.slot_count; ++s) {
      out.operands.push_back(OperandOf(kernel.slots[in.first_slot + s]));
    }
    if (in.guard != Slot::kAbsent) {
      TracedOperand guard = OperandOf({in.guard, 0, in.guard_negated, false});
      guard.guard = true;
      out.text = std::string(in.guard_negated ? "@!" : "@") + guard.name + " ";
      out.operands.push_back(std::move(guard));
    }
    out.text += Text(in, form);
    return out;
  }

 private:
  std::string Text(const Instruction& in, const std::string& form) const {
    if (in.position.line == 0 || in.position.line > lines_.size()) return form;
    const size_t at = lines_[in.position.line - 1] + in.position.column - 1;
    std::string text = StatementText(text_, at);
    return text.starts_with(form) ? text : form;
  }

  TracedOperand OperandOf(const Slot& slot) const {
    TracedOperand operand;
    operand.bytes = slot.bytes;
    operand.written = slot.written;
    if (!slot.present()) {
      operand.name = "_";
      operand.kind = TracedOperand::Kind::kConstant;
    } else if ((slot.offset & Slot::kConstant) != 0) {
      operand.kind = TracedOperand::Kind::kConstant;
    } else if (const auto special = specials_.find(slot.offset); special != specials_.end()) {
      operand.kind = TracedOperand::Kind::kSpecial;
      operand.name = special->second;
    } else if (const auto name = names_.find(slot.offset); name != names_.end()) {
      operand.name = name->second;
    }
    return operand;
  }

  const Syntax& syntax_;
  std::string_view text_;
  std::vector<size_t> lines_;  // where they begin
  std::map<uint32_t, std::string> names_;
  std::map<uint32_t, std::string_view> specials_;
};

}  // namespace

std::vector<TracedInstruction> InstructionTexts(const Program& program, const Kernel& kernel) {
  const TextReader reader(program, kernel);
  std::vector<TracedInstruction> out;
  for (size_t i = 0; i < kernel.instructions.size(); ++i) out.push_back(reader.Read(kernel, i));
  return out;
}

}  // namespace hloscope::ptx
