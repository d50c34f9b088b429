// Texts of rows.
#include "viewer/graph/text_in_room.h"

#include <algorithm>
#include <cfloat>

namespace hloscope::viewer {

float WidthOf(ImFont* font, float size, const std::string& text) {
  return font->CalcTextSizeA(size, FLT_MAX, 0, text.data(), text.data() + text.size()).x;
}

std::string FitEnd(ImFont* font, float size, const std::string& text, float room) {
  const char* rest = nullptr;
  const char* const end = text.data() + text.size();
  if (WidthOf(font, size, text) <= room) return text;
  const float dots = WidthOf(font, size, "…");
  font->CalcTextSizeA(size, std::max(room - dots, 0.0f), 0, text.data(), end, &rest);
  return std::string(text.data(), rest).append("…");
}

}  // namespace hloscope::viewer
