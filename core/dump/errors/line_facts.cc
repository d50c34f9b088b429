// Each fact of a line once.
#include "core/dump/errors/line_facts.h"

#include "core/dump/errors/evidence.h"

namespace hloscope::dump {

const SourceLine& LineFacts::source() {
  if (!source_) source_ = FindSourceLine(lines_, at_);
  return *source_;
}

FrontEnd LineFacts::front_end() {
  if (!front_end_) front_end_ = FrontEndOf(lines_, at_);
  return *front_end_;
}

const std::string& LineFacts::code() {
  if (!code_) {
    code_ = ErrorCodeText(lines_[at_]);
    if (code_->empty() && at_ > 0) code_ = ErrorCodeText(lines_[at_ - 1]);
  }
  return *code_;
}

bool LineFacts::is_cause() {
  if (!is_cause_) is_cause_ = lines_[at_].contains("JaxStackTraceBeforeTransformation: ");
  return *is_cause_;
}

}  // namespace hloscope::dump
