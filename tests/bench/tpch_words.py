"""The words of TPC-H's tables, as clause 4.2 of the specification lists them; those of comments with how often they come."""

REGIONS = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"]
NATIONS = {"ALGERIA": 0, "ARGENTINA": 1, "BRAZIL": 1, "CANADA": 1, "EGYPT": 4, "ETHIOPIA": 0, "FRANCE": 3, "GERMANY": 3, "INDIA": 2,
           "INDONESIA": 2, "IRAN": 4, "IRAQ": 4, "JAPAN": 2, "JORDAN": 4, "KENYA": 0, "MOROCCO": 0, "MOZAMBIQUE": 0, "PERU": 1,
           "CHINA": 2, "ROMANIA": 3, "SAUDI ARABIA": 4, "VIETNAM": 2, "RUSSIA": 3, "UNITED KINGDOM": 3, "UNITED STATES": 1}
SEGMENTS = ["AUTOMOBILE", "BUILDING", "FURNITURE", "MACHINERY", "HOUSEHOLD"]
PRIORITIES = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"]
INSTRUCTIONS = ["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"]
MODES = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"]
TYPES = [f"{a} {b} {c}" for a in ("STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO")
         for b in ("ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED") for c in ("TIN", "NICKEL", "BRASS", "STEEL", "COPPER")]
CONTAINERS = [f"{a} {b}" for a in ("SM", "LG", "MED", "JUMBO", "WRAP")
              for b in ("CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM")]
COLOURS = """
    almond antique aquamarine azure beige bisque black blanched blue blush brown burlywood burnished chartreuse chiffon chocolate
    coral cornflower cornsilk cream cyan dark deep dim dodger drab firebrick floral forest frosted gainsboro ghost goldenrod green
    grey honeydew hot indian ivory khaki lace lavender lawn lemon light lime linen magenta maroon medium metallic midnight mint
    misty moccasin navajo navy olive orange orchid pale papaya peach peru pink plum powder puff purple red rose rosy royal saddle
    salmon sandy seashell sienna sky slate smoke snow spring steel tan thistle tomato turquoise violet wheat white yellow""".split()


def weighted(text):
    """{word: weight} of groups WEIGHT: WORD WORD …; _ stands for a blank within a word."""
    out, weight = {}, 0
    for word in text.split():
        if word.endswith(":") and word[:-1].isdigit():
            weight = int(word[:-1])
        else:
            out[word.replace("_", " ")] = weight
    return out


NOUNS = weighted("""
    40: packages requests accounts deposits 20: foxes ideas theodolites pinto_beans instructions 10: dependencies excuses platelets
    5: asymptotes courts dolphins multipliers 1: sauternes warthogs frets dinos attainments somas braids frays warhorses dugouts
    notornis epitaphs pearls tithes waters orbits gifts sheaves depths sentiments decoys realms pains grouches escapades""")
ADJECTIVES = weighted("""
    20: special pending unusual express 50: regular 40: final ironic 30: even 20: bold 10: silent 1: furious sly careful blithe quick
    fluffy slow quiet ruthless thin close dogged daring brave stealthy permanent enticing idle busy""")
VERBS = weighted("""
    20: sleep wake are cajole haggle nag use boost affix detect integrate 1: maintain nod was lose sublate solve thrash promise
    engage hinder print x-ray breach eat grow impress mold poach serve run dazzle snooze doze unwind kindle play hang believe doubt""")
ADVERBS = weighted("""
    50: quickly slowly carefully blithely furiously fluffily 1: sometimes always never slyly ruthlessly thinly closely doggedly
    daringly bravely stealthily permanently enticingly idly busily regularly finally ironically evenly boldly silently""")
AUXILIARIES = weighted("1: do may might shall will would can could should must")
PREPOSITIONS = weighted("""
    50: about above according_to across after against along alongside_of among around at atop before behind beneath beside besides
    between beyond by despite during except for from in_place_of inside instead_of into near of on outside over past since through
    throughout to toward under until up upon without with within""")
ENDS = {".": 50, ";": 1, ":": 1, "?": 1, "!": 1, " --": 1}
