// StatedRule: what a message of an exception demands in its own words.
#pragma once

#include <string>
#include <string_view>

namespace hloscope::dump {

// "meet what it demands: axis must be an int" of "axis must be an int, got 2.5"; a message that
// says what is missing, alone possible or not there gives what follows from that. In the words of
// the message, which are not checked; at most 500 bytes. Empty: it states no rule.
std::string FixOfRule(std::string_view message);

}  // namespace hloscope::dump
