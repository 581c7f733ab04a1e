"""A graph of one node that calls the scripted model."""
import os

from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph

model = ChatOpenAI(model="scripted", base_url=os.environ["MODEL_URL"], api_key="none", max_retries=0, streaming=True)


async def write(state: MessagesState) -> dict:
    return {"messages": [await model.ainvoke(state["messages"])]}


graph = StateGraph(MessagesState).add_node(write).add_edge(START, "write").compile()
