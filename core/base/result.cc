// Wording of errors.
#include "core/base/result.h"

namespace hloscope {

std::string Place::ToString() const {
  std::string text = file;
  if (line == 0) return text;
  if (!text.empty()) text += ':';
  text += std::to_string(line);
  if (column != 0) text += ':' + std::to_string(column);
  return text;
}

std::string Error::ToString() const {
  std::string text = place.ToString();
  if (!text.empty()) text += ": ";
  text += message;
  if (!hint.empty()) text += " (" + hint + ")";
  return text;
}

}  // namespace hloscope
