// `--limit-output N`: long answers shortened, with the count of what was left out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hloscope::app {

// Passes on what is written, in whole lines: of text the first N lines, of JSON Lines the first N
// objects, each with at most N entries in every list, and in both cases the last, which is often
// the answer. An object whose lists were shortened has `not_shown`: how many entries by the name of
// the list.
class OutputLimit {
 public:
  OutputLimit(int64_t most, bool json) : most_(most), json_(json) {}
  // What to print of `text` and of what came before it.
  std::string Pass(std::string_view text);
  // At the end: the count of lines left out, and the last.
  std::string Finish();

 private:
  void PassLine(std::string_view line, std::string& out);
  std::string Shortened(std::string_view line) const;

  int64_t most_, lines_ = 0;
  bool json_;
  std::string rest_;  // a line that is not complete
  std::string last_;  // the last of the lines after the first N
};

}  // namespace hloscope::app
