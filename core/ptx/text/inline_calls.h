// InlineCalls: functions (.func) put in place of the calls of them, so that entries have none.
#pragma once

#include "core/ptx/text/parser.h"

namespace hloscope::ptx {

// Calls of functions without a body (vprintf) stay; decoding names them. The memory of a call's
// parameters becomes local to the thread. Input errors: functions that call themselves, a call with
// another number of parameters, more than `limits`.
Status InlineCalls(Syntax& syntax, const TextLimits& limits);

}  // namespace hloscope::ptx
