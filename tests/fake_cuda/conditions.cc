// Loops in graphs: a node whose graph is run while the condition, which kernels set, is not 0. As
// with CUDA it is what it was made with until then; here a word that nobody set is refused.
#include "tests/fake_cuda/conditions.h"

#include <string_view>

#include "tests/fake_cuda/calls.h"

namespace fake_cuda {
namespace {

constexpr int kNotSupported = 801, kIllegalState = 401;
constexpr uint32_t kNeverSet = 0xa5a5a5a5;

// CUgraphNodeParams.
struct NodeParameters {
  int type, reserved[3];
  uint64_t condition;
  int kind;
  unsigned size;
  CUgraph_st** graphs;
  CUctx_st* context;
  uint64_t padding[25], reserved_at_end;
};
static_assert(sizeof(NodeParameters) == 256);

bool HasConditions(State& state) { return state.faults.Property("version", 13000) >= 12040; }

// Whether the graph is one, or the turn of a loop in one.
bool IsGraph(State& state, CUgraph_st* graph) {
  const auto turn = state.turns.find(graph);
  return state.graphs.contains(graph) || (turn != state.turns.end() && !turn->second.expired());
}

// Nodes are numbered from 1 on in the order in which they were added.
void* HandleOf(size_t number) { return reinterpret_cast<void*>(number); }

Work Loop(std::shared_ptr<CUgraph_st> turn, std::shared_ptr<Condition> condition) {
  return [=](uint32_t correlation, uint32_t graph, uint64_t) {
    while (true) {
      uint32_t value = 0;
      memcpy(&value, State::Get().At(condition->address, condition->device).data(), sizeof value);
      if (value == kNeverSet) return kInvalidValue;
      if (value == 0) return 0;
      for (const GraphNode& node : turn->nodes) {
        const int result = node.work(correlation, graph, node.number);
        if (result != 0) return result;
      }
    }
  };
}

}  // namespace

Condition::~Condition() { State::Get().memory.erase(address); }

std::string WithConditions(std::string ptx) {
  constexpr std::string_view kDeclared = ".extern .func cudaGraphSetConditional(";
  const size_t at = ptx.find(kDeclared);
  if (at == std::string::npos) return ptx;
  constexpr const char* kDefined = R"(.func cudaGraphSetConditional(.param .b64 c, .param .b32 v)
{
  .reg .b64 %c;
  .reg .b32 %v;
  ld.param.b64 %c, [c];
  ld.param.b32 %v, [v];
  st.global.b32 [%c], %v;
  ret;
}
)";
  return ptx.replace(at, ptx.find(';', at) + 1 - at, kDefined);
}

}  // namespace fake_cuda

using fake_cuda::Do;
using fake_cuda::State;

extern "C" {

int cuGraphConditionalHandleCreate(uint64_t* handle, CUgraph_st* graph, CUctx_st* context,
                                   unsigned value, unsigned flags) {
  return Do("cuGraphConditionalHandleCreate", [&](State& state) {
    if (!fake_cuda::HasConditions(state)) return fake_cuda::kNotSupported;
    if (!fake_cuda::IsGraph(state, graph)) return fake_cuda::kInvalidHandle;
    if (context != fake_cuda::current || value != 0 || flags != 0) return fake_cuda::kInvalidValue;
    auto made = std::make_shared<fake_cuda::Condition>();
    made->device = context->device;
    made->address = state.next_address;
    state.next_address += 8192;
    std::vector<std::byte> word(sizeof fake_cuda::kNeverSet);
    memcpy(word.data(), &fake_cuda::kNeverSet, word.size());
    state.memory[made->address] = {made->device, std::move(word)};
    *handle = made->address;
    graph->conditions.push_back(std::move(made));
    return 0;
  });
}

int cuStreamGetCaptureInfo_v3(CUstream_st* stream, int* status, uint64_t* id, CUgraph_st** graph,
                              void* const** nodes, const void** edges, size_t* count) {
  return Do("cuStreamGetCaptureInfo", [&](State& state) {
    if (!state.streams.contains(stream)) return fake_cuda::kInvalidHandle;
    CUgraph_st* const recorded = stream->capture;
    *status = recorded == nullptr ? 0 : stream->capture_failed ? 2 : 1;
    if (recorded == nullptr) return 0;
    *id = 1;
    *graph = recorded;
    if (nodes != nullptr) {
      recorded->last = fake_cuda::HandleOf(recorded->nodes.size());
      *nodes = &recorded->last;
    }
    if (edges != nullptr) *edges = nullptr;
    if (count != nullptr) *count = recorded->nodes.empty() ? 0 : 1;
    return 0;
  });
}

// What was recorded is one after the other: a node that is added has to come behind all of it, and
// all that follows behind the node.
int cuGraphAddNode_v2(void** node, CUgraph_st* graph, void* const* before, const void* edges,
                      size_t count, fake_cuda::NodeParameters* parameters) {
  return Do("cuGraphAddNode", [&](State& state) {
    if (!fake_cuda::HasConditions(state)) return fake_cuda::kNotSupported;
    if (!fake_cuda::IsGraph(state, graph)) return fake_cuda::kInvalidHandle;
    const auto condition = std::ranges::find(graph->conditions, parameters->condition,
                                             [](const auto& each) { return each->address; });
    const bool is_behind_all =
        graph->nodes.empty() ? count == 0
                             : count == 1 && *before == fake_cuda::HandleOf(graph->nodes.size());
    if (parameters->type != 13 || parameters->kind != 1 || parameters->size != 1 ||
        parameters->context != fake_cuda::current || condition == graph->conditions.end() ||
        edges != nullptr || !is_behind_all || parameters->reserved_at_end != 0) {
      return fake_cuda::kInvalidValue;
    }
    auto turn = std::make_shared<CUgraph_st>();
    turn->device = graph->device;
    state.turns[turn.get()] = turn;
    graph->nodes.push_back({state.NewNode(0), fake_cuda::Loop(turn, *condition)});
    *node = fake_cuda::HandleOf(graph->nodes.size());
    graph->is_open = true;
    turn->self = turn.get();
    parameters->graphs = &turn->self;
    return 0;
  });
}

int cuStreamUpdateCaptureDependencies_v2(CUstream_st* stream, void* const* nodes, const void* edges,
                                         size_t count, unsigned flags) {
  return Do("cuStreamUpdateCaptureDependencies", [&](State& state) {
    if (!state.streams.contains(stream)) return fake_cuda::kInvalidHandle;
    if (stream->capture == nullptr) return fake_cuda::kIllegalState;
    if (flags != 1 || count != 1 || edges != nullptr ||
        *nodes != fake_cuda::HandleOf(stream->capture->nodes.size())) {
      return fake_cuda::kInvalidValue;
    }
    stream->capture->is_open = false;
    return 0;
  });
}

int cuStreamBeginCaptureToGraph(CUstream_st* stream, CUgraph_st* graph, void* const* nodes,
                                const void* edges, size_t count, int) {
  return Do("cuStreamBeginCaptureToGraph", [&](State& state) {
    if (!state.streams.contains(stream) || stream->capture != nullptr ||
        !fake_cuda::IsGraph(state, graph) || nodes != nullptr || edges != nullptr || count != 0 ||
        !graph->nodes.empty()) {
      return fake_cuda::kInvalidValue;
    }
    stream->capture = graph;
    stream->capture_failed = false;
    return 0;
  });
}

}  // extern "C"
