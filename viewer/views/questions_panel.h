// The questions of Home, each with its answer and its key.
#pragma once

#include "viewer/widgets/view.h"

namespace hloscope::viewer {

void DrawQuestions(Frame& frame);
// One line each: "question: answer", for tests and for people who cannot see.
std::string QuestionsText(Context& context);

}  // namespace hloscope::viewer
