// Texts of rows.
#include "viewer/graph/text_in_room.h"

#include <algorithm>
#include <cfloat>

namespace hloscope::viewer {

std::string FitEnd(ImFont* font, float size, const std::string& text, float room) {
  const char* rest = nullptr;
  const char* const end = text.data() + text.size();
  if (font->CalcTextSizeA(size, FLT_MAX, 0, text.data(), end).x <= room) return text;
  const float dots = font->CalcTextSizeA(size, FLT_MAX, 0, "…").x;
  font->CalcTextSizeA(size, std::max(room - dots, 0.0f), 0, text.data(), end, &rest);
  return std::string(text.data(), rest).append("…");
}

}  // namespace hloscope::viewer
