"""The spellings that calls are made up of, against the instruction table and against each other."""

from __future__ import annotations

import pytest

from tileproof.contracts.grammar import enumerate_spellings, shapes
from tileproof.contracts.scalar_operands import operand_types
from tileproof.fuzz.generate.spellings import MNEMONICS, bits_of, spellings

WITHOUT_CONTRACT = {"mov.pred"}


@pytest.mark.parametrize("mnemonic", MNEMONICS)
def test_calls_are_made_up_of_every_form_with_its_operands(mnemonic: str) -> None:
    every = {s.opcode: s for recent in (False, True) for s in spellings(mnemonic, recent)}
    assert set(every) == set(enumerate_spellings(mnemonic)) - WITHOUT_CONTRACT
    for opcode, spelling in every.items():
        forms = shapes(opcode)
        operands = [
            tuple((o.name, type_, o.registers) for o, type_ in zip(f.operands, operand_types(f), strict=True))
            for f in forms
        ]
        assert set(operands) == set(spelling.lists)
        assert spelling.recent != any(form.supports("sm_90a") for form in forms)
        assert all(
            bits_of(type_) == o.bits
            for f in forms
            for o, type_ in zip(f.operands, operand_types(f), strict=True)
        )
