from .a2a import A2aSdk, FastA2a
from .agno import Agno
from .durable_streams import DurableStreams
from .hermes import Hermes
from .holdfast import Holdfast
from .holdfast_protocols import HoldfastA2a, HoldfastAgentOs, HoldfastAiSdk, HoldfastChat
from .langgraph import LangGraph
from .mastra import Mastra, MastraDurable
from .plain import Plain
from .resumable_stream import ResumableStream

PROFILES = {
    profile.name: profile
    for profile in (
        Plain(),
        Holdfast(),
        HoldfastAgentOs(),
        HoldfastChat(),
        HoldfastA2a(),
        HoldfastAiSdk(),
        Agno(),
        FastA2a(),
        Hermes(),
        A2aSdk(),
        ResumableStream(),
        DurableStreams(),
        LangGraph(),
        Mastra(),
        MastraDurable(),
    )
}
