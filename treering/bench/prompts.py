"""The papers' prompts, word for word but for marks lost in print. Each is filled by ``format``.

Texts that fill a prompt are data: braces in them are not looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from treering.errors import UnknownName


@dataclass(frozen=True, slots=True)
class Prompt:
    """An answer prompt: ``user`` holds ``{context}`` and ``{question}``, choices ``{options}``.

    ``max_tokens`` bounds the answer.
    """

    user: str
    max_tokens: int
    system: str = ""


_STORY = Prompt(  # FragRel, prompt 1 (LongBench's for NarrativeQA)
    user=(
        "You are given a story, which can be either a novel or a movie script, and a question. "
        "Answer the question asconcisely as you can, using a single phrase if possible. "
        "Do not provide any explanation.\n\nStory: {context}\n\n"
        "Now, answer the question based on the story asconcisely as you can, using a single phrase "
        "if possible. Do not provide any explanation.\n\nQuestion: {question}\n\nAnswer:"
    ),
    max_tokens=128,
)
_SEARCH_RESULTS = Prompt(  # MemTree, A.2.2
    user=(
        "Write a high-quality short answer for the given question using only the provided search "
        "results (some of which might be irrelevant).\n\n[ Question ]\n{question}\n\n"
        "[ Search Results ]\n{context}\n\n[ Output ]\n"
    ),
    max_tokens=128,
)
_LOCOMO = Prompt(  # LoCoMo's own, for reading comprehension
    user=(
        "{context}\n\nBased on the above context, write an answer in the form of a short phrase "
        "for the following question. Answer with exact words from the context whenever possible."
        "\n\nQuestion: {question} Short answer:"
    ),
    max_tokens=64,
)
_CHOICE = Prompt(  # ours: MemTree prints none for QuALITY's choices
    user=(
        "Answer the multiple-choice question using only the provided search results.\n\n"
        "[ Search Results ]\n{context}\n\n[ Question ]\n{question}\n{options}\n\n"
        "Reply with the letter of the right choice and nothing else.\n\n[ Output ]\n"
    ),
    max_tokens=8,
)
_CHAT = Prompt(  # FragRel, prompt 3, with MemoChat's layout of its materials (figure 3)
    system=(
        "You are an intelligent dialog bot. You will be shown Related Evidences supporting for "
        "User Input, and Recent Dialogs between user and you. Please read, memorize, and "
        "understand given materials, then generate one concise, coherent and helpful response."
    ),
    user="Related Evidences:\n{context}\n\nRecent Dialogs:\n\nUser Input:\nuser: {question} ### bot: ",
    max_tokens=512,
)

ANSWER: Mapping[str, Prompt] = {
    "story": _STORY,
    "search-results": _SEARCH_RESULTS,
    "locomo": _LOCOMO,
    "choice": _CHOICE,
    "chat": _CHAT,
}

JUDGE_MATCH = (  # MemTree, A.2.2
    "Your task is to check if the predicted answer appropriately responds to the query in a "
    "similar way as the ground-truth answer.\n\nInstructions:\n"
    "- Output '1' if the predicted answer addresses the query similarly to the ground-truth "
    "answer.\n- Output '0' if it does not.\n"
    "- Only output either '0' or '1'. No explanations or extra text.\n\n"
    "[ Query ]\n{query}\n\n[ Ground-Truth Answer ]\n{reference}\n\n"
    "[ Predicted Answer ]\n{answer}\n\n[ Output ]\n"
)
JUDGE_RATING = (  # MemoChat, table 9; FragRel, prompt 4
    "You are an impartial judge. You will be shown Related Conversation History, User Question "
    "and Bot Response.\n\n```\nRelated Conversation History\n{history}\n```\n\n"
    "```\nUser Question\n{query}\n```\n\n```\nBot Response\n{answer}\n```\n\n"
    "Please evaluate whether Bot Response is faithful to the content of Related Conversation "
    "History to answer User Question. Begin your evaluation by providing a short explanation, "
    "then you must rate Bot Response on an integer rating of 1 to 100 by strictly following this "
    "format: [[rating]]."
)
EXTEND_CHAT = (  # MemTree, A.2.3
    "Generate a continuation of the conversation between Alex and Bob. Follow these guidelines:\n"
    "1. Alternate strictly between Alex and Bob, starting with Alex.\n"
    "2. Alex should speak exactly {n_rounds} times, and Bob should speak exactly {n_rounds} "
    "times.\n"
    "3. Each turn should consist of 1-3 sentences.\n"
    "4. Ensure that each response flows logically and organically from the previous turn, avoiding "
    "forced transitions or unnatural questions.\n"
    "5. Focus on developing rapport between the characters. Use a mix of statements, reactions, "
    "and occasional questions to maintain a conversational tone.\n"
    "6. Allow the conversation to transition smoothly between topics, keeping it casual and "
    "coherent.\n\n[ Conversation History ]\n{recent_chat_hist}\n\n[ Generated Dialogue ]\n"
)
ASK_ABOUT_CHAT = (  # MemTree, A.2.4
    'Based on the conversation between "Alex" and "Bob" below, generate {n_q} unique questions '
    'that "Bob" can ask "Alex," derived from the information "Alex" has shared. Each question '
    "should be directly answerable using the conversation's content.\n\n"
    "Output a JSON array where each element is an object with the following keys:\n"
    '- "question": The question for Alex.\n'
    '- "response": The corresponding answer derived directly from Alex\'s information.\n'
    "Ensure the output is valid JSON. Only output the JSON array.\n\n"
    "[Conversation]\n{chat_hist}\n\n[Output]\n"
)


def answer_prompt(name: str) -> Prompt:
    """The answer prompt called ``name``.

    Raises:
        UnknownName: there is none; the message lists those there are.
    """
    if name not in ANSWER:
        raise UnknownName(f"no answer prompt is called {name!r}; there are: {', '.join(ANSWER)}")
    return ANSWER[name]
