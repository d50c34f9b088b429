#include "core/replay/pjrt/adapt_steps.h"
namespace hloscope::replay::pjrt {
Status MakeSynchronous(AdaptState&) { return {}; }
Status ExpandBitcasts(AdaptState&) { return {}; }
Status ReplaceCustomCalls(AdaptState&) { return {}; }
Status InlineFusions(AdaptState&) { return {}; }
Status FoldPartitions(AdaptState&) { return {}; }
}  // namespace hloscope::replay::pjrt
