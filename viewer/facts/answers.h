// Answers: what one asks of a whole dump first, each answered in one sentence that leads to where
// it is shown.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "viewer/commands/commands.h"
#include "viewer/model/context.h"
#include "viewer/model/selection.h"

namespace hloscope::viewer {

enum class Question : uint8_t {
#define QUESTION(name, command, scope) name,
#include "viewer/facts/questions.def"
#undef QUESTION
};
enum class QuestionScope : uint8_t { kDump, kModule };
struct QuestionRow {
  Question question;
  Command command;
  QuestionScope scope;
};
std::span<const QuestionRow> QuestionRows();
std::optional<Question> QuestionOf(Command command);

struct Answer {
  std::string text;       // one sentence: the answer, or what it takes to get one
  Selection selection;    // what it is about; kNothing: nothing to select
  std::string_view view;  // that shows it; empty: any that shows the selection
  bool is_known = false;  // false: unknown from this dump
};

// The answer for the dump or the module in view; nullptr while something it needs is being read.
// What would take long on a large dump is computed only once it was asked for: `asked`.
const Answer* AnswerTo(Context& context, Question question, bool asked);

}  // namespace hloscope::viewer
